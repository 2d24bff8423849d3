"""The telepathy world: questions go to the user, guesses are judged here, the right one ends it.

It has no tools and no chance of its own, and no observation holds the title. Whether a guess is
right is `verifier`'s word, what is said about it `wording`'s.
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
from .verifier import TelepathyState  # noqa: TID252


@single_use
class TelepathyEnv:
    """One guessing game; see `trainer.worlds.seam.Env`."""

    def __init__(self, task: Task, settings: Mapping[str, Any]) -> None:
        self._task = task
        self._style = prompt_style(settings)
        self._max_steps = int(settings.get("max_steps", 16))
        self._state = TelepathyState()

    def start(self) -> Opening:
        """Begin the game."""
        return Opening(wording.system(self._style, self._max_steps), self._task.opening)

    def act(self, action: Action) -> StepResult:
        """Pass a question on to the user, or judge a guess."""
        match action.choice:
            case Choice.ACTION:
                return StepResult(say=action.content)
            case Choice.ANSWER:
                return self._guess(action.content)
            case Choice.FINISH:
                return StepResult(events=("finished",), stop=StopReason.FAILED)
            case _:
                return self._malformed(refusals.reason(action))

    def hear(self, reply: Reply) -> StepResult:
        """Note what a reply tells; it earns nothing."""
        refuse_unknown(self._task, reply.revealed, "attributes")
        before, self._state = self._state, self._state.hear(self._task, reply.revealed)
        num_new = len(self._state.heard) - len(before.heard)
        return StepResult(events=("attribute_told",) * num_new or ("off_topic",))

    def verdict(self) -> Verdict:
        """Judge what has happened so far."""
        return verifier.verdict(self._task, self._state)

    def _guess(self, content: str) -> StepResult:
        self._state = self._state.guess(self._task, content)
        right = self._state.guessed
        return StepResult(
            observation=wording.feedback(self._style, right),
            events=("guess_right" if right else "guess_wrong",),
            reward=float(right),
            stop=StopReason.SOLVED if right else None,
        )

    def _malformed(self, reason: str) -> StepResult:
        return StepResult(wording.malformed(self._style, reason), events=("malformed",))


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> TelepathyEnv:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    return TelepathyEnv(task, settings)
