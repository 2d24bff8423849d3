"""What the trainer may ask of an episode's world, and what can come back.

A call is a value and so is a fault: whatever a world does, the trainer gets one result per call
and goes on. Nothing here knows about processes (`trainer.worlds.host`) or about JSON
(`trainer.worlds.wire`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from trainer.episode import StopReason, Turn
from trainer.message import Action, Reply
from trainer.question import Answers, Questions
from trainer.task import Task
from trainer.worlds.seam import Opening, StepResult, Verdict

MAX_DETAIL_CHARS = 300
JUDGE_SETTING = "judge"
"""The setting that tells a world that its questions will be answered by a judge."""

FAULT_REASONS = frozenset(
    {
        StopReason.WORLD_ERROR,
        StopReason.WORLD_DIED,
        StopReason.WORLD_HUNG,
        StopReason.WORLD_FLOODED,
        StopReason.WORLD_INVALID,
    }
)


@dataclass(frozen=True)
class Start:
    """`Env.start`; answered with an `Opening`."""


@dataclass(frozen=True)
class Act:
    """`Env.act`; answered with a `StepResult`."""

    action: Action


@dataclass(frozen=True)
class Hear:
    """`Env.hear`; answered with a `StepResult`."""

    reply: Reply


@dataclass(frozen=True)
class Judge:
    """`Env.verdict`; answered with a `Verdict`."""


@dataclass(frozen=True)
class Rejudge:
    """`verifier.rejudge` on a dialogue that was played elsewhere; answered with a `Verdict`.

    The episode that is asked need not have been started.
    """

    turns: tuple[Turn, ...]
    """The whole dialogue; what is private to the user's side does not travel."""
    answers: Answers = field(default_factory=dict)
    """What a judge has said of this dialogue, for a verifier that asks one."""


@dataclass(frozen=True)
class Answered:
    """`JudgedEnv.answered`: a judge's answers to the `Questions` that stood for a result.

    Answered with what the call before would have been answered with.
    """

    answers: Answers


METHODS: Mapping[type, str] = {
    Start: "start",
    Act: "act",
    Hear: "hear",
    Judge: "verdict",
    Rejudge: "rejudge",
    Answered: "answered",
}
"""What each call asks for: a method of `Env`, or the verifier's word on a recorded dialogue."""

Call = Start | Act | Hear | Judge | Rejudge | Answered


@dataclass(frozen=True)
class Fault:
    """A world's failure: it costs the episode and is never a zero."""

    stop: StopReason
    """One of `FAULT_REASONS`."""
    detail: str
    """What happened, in one printable line of at most `MAX_DETAIL_CHARS` characters."""


Result = Opening | StepResult | Verdict | Questions | Fault
"""`Questions` come only from an episode that was opened with the setting `judge`."""


def fault(stop: StopReason, detail: str) -> Fault:
    """Return a fault whose detail is safe to print, log and store.

    Characters that do not print, such as terminal escapes, newlines and bidirectional controls,
    are shown as escapes; a long text is cut and ends in `...`.
    """
    shown = "".join(
        character if character.isprintable() else repr(character)[1:-1]
        for character in detail[:MAX_DETAIL_CHARS]
    )
    if len(detail) > MAX_DETAIL_CHARS or len(shown) > MAX_DETAIL_CHARS:
        shown = shown[: MAX_DETAIL_CHARS - 3] + "..."
    return Fault(stop, shown)


class Host(Protocol):
    """Whatever runs episodes of worlds: `WorldHost` in processes, `LocalHost` in this one."""

    def check(self, world: str) -> Fault | None:
        """Load a world now; return why it cannot be used, or None when it can."""
        ...

    def open(self, key: str, task: Task, *, settings: Mapping[str, Any], seed: int) -> None:
        """Begin one episode of `task.world`; what goes wrong is told by its first call.

        Args:
            key: The caller's name for the episode, unique among the open ones.
            task: The task to play, made of JSON values.
            settings: What `make` gets; JSON values.
            seed: Where the world's own chance comes from.

        Raises:
            ValueError: if the key is open already, the world is unknown, or a value is not JSON.
        """
        ...

    def call(self, calls: Mapping[str, Call], *, deadline_s: float) -> dict[str, Result]:
        """Ask many episodes at once; return one result per key, in the order of `calls`.

        After a fault an episode is over: the same fault answers every later call.

        Args:
            calls: At most one call for each open episode, by key.
            deadline_s: Seconds that each of them may take, counted from when all were sent.

        Raises:
            ValueError: if a key is not open.
        """
        ...

    def close(self, keys: Iterable[str]) -> None:
        """End those episodes; keys that are not open are passed over."""
        ...
