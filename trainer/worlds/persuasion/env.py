"""The persuasion world: every message is an argument, and what the holder grants moves them.

It has no tools and no chance of its own. It ends when the holder strongly disagrees with their
own claim. What a move is worth is `verifier`'s word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.episode import StopReason
from trainer.message import Action, Choice, Reply
from trainer.task import Task
from trainer.worlds import refusals
from trainer.worlds.disclosure import refuse_unknown
from trainer.worlds.prompt_style import prompt_style
from trainer.worlds.seam import Opening, StepResult, Verdict
from trainer.worlds.single_use import single_use

from . import verifier, wording  # noqa: TID252 - the folder is loaded by path
from .verifier import PersuasionState  # noqa: TID252


@single_use
class PersuasionEnv:
    """One dispute; see `trainer.worlds.seam.Env`."""

    def __init__(self, task: Task, settings: Mapping[str, Any]) -> None:
        self._task = task
        self._style = prompt_style(settings)
        self._max_steps = int(settings.get("max_steps", 16))
        self._state = PersuasionState()

    def start(self) -> Opening:
        """Begin the dispute."""
        return Opening(wording.system(self._style, self._max_steps), self._task.opening)

    def act(self, action: Action) -> StepResult:
        """Pass an argument on; `[action]` and `[answer]` are the same, as in PersuadeGym."""
        match action.choice:
            case Choice.ACTION | Choice.ANSWER:
                return self._argue(action.content)
            case Choice.FINISH:
                return StepResult(events=("finished",), stop=StopReason.FAILED)
            case _:
                return self._malformed(refusals.reason(action))

    def hear(self, reply: Reply) -> StepResult:
        """Move the holder by what the reply grants for the first time."""
        refuse_unknown(self._task, reply.revealed, "points")
        before, self._state = self._state, self._state.hear(self._task, reply.revealed)
        num_new = len(self._state.conceded) - len(before.conceded)
        return StepResult(
            events=("point_granted",) * num_new or ("off_topic",),
            reward=verifier.paid(before, self._state),
            stop=StopReason.SOLVED if self._state.stance == verifier.LAST else None,
        )

    def verdict(self) -> Verdict:
        """Judge where the holder stands."""
        return verifier.verdict(self._task, self._state)

    def _argue(self, content: str) -> StepResult:
        before, self._state = self._state, self._state.argue(content)
        if self._state.num_insults > before.num_insults:
            return StepResult(say=content, events=("offended",))
        if not verifier.is_argument(content):
            return StepResult(wording.too_short(self._style), events=("too_short",))
        return StepResult(say=content)

    def _malformed(self, reason: str) -> StepResult:
        return StepResult(wording.malformed(self._style, reason), events=("malformed",))


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> PersuasionEnv:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    return PersuasionEnv(task, settings)
