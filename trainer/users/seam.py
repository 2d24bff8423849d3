"""The seam between the rollout and whoever plays the user.

A user engine is stateless: what a user remembers of one dialogue is a value that goes in with
the request and comes out with the reply. Requests come in batches, so an engine that asks a
model may answer them together. A failure is a value too: it costs its episode, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from trainer.episode import Turn, Voice
from trainer.task import Task


@dataclass(frozen=True)
class UserState:
    """What a user remembers of one dialogue."""

    reveal_counts: Mapping[str, int] = field(default_factory=dict)
    """How often each fact was disclosed, by fact id."""
    num_replies: int = 0
    num_questions: int = 0
    """Agent messages that asked something, whatever else they did."""
    num_unhelpful: int = 0
    """Agent messages in a row that asked for nothing the user could give."""
    withdrawn: frozenset[str] = frozenset()
    """Facts that have become pointless (see `StepResult.withdrawn`)."""


@dataclass(frozen=True)
class UserRequest:
    """Everything an engine may use to answer one message."""

    task: Task
    history: tuple[Turn, ...]
    """The turns so far, the agent's newest message last; tool turns are left out, but for those
    right after a reply: they are what the user's own acts showed."""
    message: str
    """The agent's newest message, as the user may read it."""
    state: UserState
    settings: Mapping[str, Any]
    """User knobs resolved for the task's world, by their names without `user.`."""
    seed: int
    """The dialogue's own seed for the user's chance; the reply index is added by the engine."""


@dataclass(frozen=True)
class UserReply:
    """One answer of the user."""

    text: str
    voice: Voice
    state: UserState
    """What the user remembers from here on."""
    rule: str
    """Which rule of the user answered, such as `reveal`; `llm` for a model."""
    revealed: tuple[str, ...] = ()
    """Ids of the facts that the text discloses."""
    ends: bool = False
    private: Mapping[str, Any] = field(default_factory=dict)
    """Thoughts, strategy label, channel faults: recorded, never shown to the agent."""


@dataclass(frozen=True)
class UserFailure:
    """An engine's word that it has no answer, after its retries."""

    reason: str
    """What failed and what to look at, in one sentence without secrets."""


class UserEngine(Protocol):
    """Anything that can answer the agent in the voice of a user."""

    @property
    def voice(self) -> Voice:
        """Who speaks when this engine does."""
        ...

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Answer a batch of messages, one result per request, in order."""
        ...


@runtime_checkable
class SlowUser(Protocol):
    """What a user engine has beside `UserEngine` whose replies are worth waiting for elsewhere.

    Its `reply` may be called from several threads.
    """

    @property
    def at_once(self) -> int:
        """How many calls of `reply` may be under way at once, at least 1."""
        ...
