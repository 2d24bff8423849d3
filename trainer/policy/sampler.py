"""The sampler seam: token ids in, token ids and log-probabilities out.

Two implementations stand behind it: a model in this process (`trainer.policy.local`) and a
serving engine, which can have turns under way while the caller does something else. A sampler
keeps what it has read of a dialogue, so that a turn costs its new tokens only; that is its own
business, and the caller always passes the whole dialogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

from trainer.errors import Unusable


class Finish(StrEnum):
    """Why a completion ended."""

    STOP = "stop"
    """The policy sampled an end token, which is the completion's last id."""
    LENGTH = "length"
    """The limit on new tokens, or the model's context, was reached."""
    FAILED = "failed"
    """The engine gave no usable completion; the episode is quarantined."""


@dataclass(frozen=True)
class SampleRequest:
    """One turn to be written."""

    dialogue: str
    """Key of the dialogue; its next request must extend the ids of this one and its answer."""
    ids: Sequence[int]
    """The whole dialogue so far, prompt first."""
    max_new_tokens: int
    seed: int
    """Belongs to this dialogue and turn, so that a result does not depend on the batch."""


@dataclass(frozen=True)
class Completion:
    """One turn as it was sampled."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Log-probability of each id at the sampling temperature."""
    finish: Finish
    policy_version: int
    """The version of the weights that wrote every one of these tokens."""
    error: str | None = None


class SamplerFault(Unusable):
    """The sampler does not speak for the learner's policy; nothing may be trained on its words."""


class Incident(NamedTuple):
    """Something that went wrong in a sampler and was mended."""

    kind: str
    """One of the run's event kinds (`gate.contract.records.EVENT_KINDS`)."""
    detail: Mapping[str, Any]


class Sampler(Protocol):
    """Produces completions with log-probabilities for one policy version at a time."""

    @property
    def policy_version(self) -> int:
        """The version of the weights in force."""
        ...

    def sample(
        self, requests: Sequence[SampleRequest], *, temperature: float, greedy: bool = False
    ) -> list[Completion]:
        """Write one turn for each request, in order.

        Args:
            requests: Dialogues at any turn; each appears at most once.
            temperature: Divides the logits before the softmax, > 0; top-p and top-k are off.
            greedy: Take the likeliest token instead of sampling (for evaluation).
        """
        ...

    def release(self, dialogues: Sequence[str]) -> None:
        """Forget what was read of these dialogues; unknown keys are ignored."""
        ...

    def sync(self, policy_version: int) -> None:
        """Take the learner's present weights; everything read under older ones is forgotten.

        Raises:
            SamplerFault: if it cannot, so that what it sampled would be another policy's.
        """
        ...

    def health(self) -> Mapping[str, Any]:
        """Return what a reader of `status.json` should know about it, as JSON values."""
        ...

    def incidents(self) -> list[Incident]:
        """Return what went wrong and was mended since this was last asked."""
        ...

    def close(self) -> None:
        """Give back processes, ports and memory."""
        ...


@runtime_checkable
class HoldsWeights(Protocol):
    """What a sampler has beside `Sampler` that may write while the learner learns.

    Its weights are its own: they change at a sync and at no other time.
    """

    def hold(self, dialogues: Sequence[str]) -> None:
        """Let dialogues go on under the weights in force until the next sync, and no others.

        Called while these are the learner's. From then on the learner may change its own, and
        another thread may sample for these dialogues.

        Args:
            dialogues: Their keys, whether they have begun or not.

        Raises:
            RuntimeError: if the learner's weights have changed already, or are the sampler's too.
        """
        ...


@runtime_checkable
class TurnsInFlight(Protocol):
    """What a sampler has beside `Sampler` whose turns are written somewhere else, each by itself.

    One thread calls all methods. Every turn that was begun comes back once, unless its dialogue is
    released before.
    """

    def begin(
        self,
        requests: Sequence[SampleRequest],
        *,
        temperature: float,
        greedy: bool = False,
        ring: Callable[[], None],
    ) -> None:
        """Have one turn written for each request, and come back at once.

        Args:
            requests: Dialogues of which no turn is under way.
            temperature: Divides the logits before the softmax, > 0.
            greedy: Take the likeliest token instead of sampling.
            ring: Called, from any thread, whenever a turn has ended.
        """
        ...

    def finished(self) -> list[tuple[str, Completion]]:
        """Return the turns that have ended since this was last asked, by dialogue."""
        ...

    def abort(self, dialogues: Sequence[str]) -> None:
        """Stop writing these turns; each comes back, as `FAILED` if it was not whole by then."""
        ...
