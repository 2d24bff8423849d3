"""The function world: four numbers in, one out, until the value at the test numbers is known.

The environment itself answers; there is no user. It ends with the right answer, and a wrong one
costs a turn. What a move does is `verifier`'s word, what is said about it `wording`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.episode import StopReason
from trainer.message import Action, Reply
from trainer.task import Task
from trainer.worlds.disclosure import refuse_unknown
from trainer.worlds.prompt_style import prompt_style
from trainer.worlds.seam import Opening, StepResult, Verdict
from trainer.worlds.single_use import single_use

from . import verifier, wording  # noqa: TID252 - the folder is loaded by path
from .verifier import FunctionState, Move  # noqa: TID252

_STOPS = {Move.ANSWER_RIGHT: StopReason.SOLVED, Move.FINISHED: StopReason.FAILED}


@single_use
class FunctionEnv:
    """One hidden rule; see `trainer.worlds.seam.Env`."""

    def __init__(self, task: Task, settings: Mapping[str, Any]) -> None:
        self._task = task
        self._style = prompt_style(settings)
        self._max_steps = int(settings.get("max_steps", 16))
        self._state = FunctionState()

    def start(self) -> Opening:
        """Begin."""
        return Opening(wording.system(self._style, self._max_steps), self._task.opening)

    def act(self, action: Action) -> StepResult:
        """Call the rule, show the test numbers or take an answer."""
        effect = verifier.effect(self._task, action)
        self._state = self._state.after(effect.move)
        return StepResult(
            observation=wording.observation(self._style, self._task, action, effect),
            events=(effect.move.value,),
            reward=float(effect.move is Move.ANSWER_RIGHT),
            stop=_STOPS.get(effect.move),
        )

    def hear(self, reply: Reply) -> StepResult:
        """Refuse a disclosure: nobody knows anything here but the world itself."""
        refuse_unknown(self._task, reply.revealed, known=())
        return StepResult()

    def verdict(self) -> Verdict:
        """Judge what has happened so far."""
        return verifier.verdict(self._task, self._state)


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> FunctionEnv:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    return FunctionEnv(task, settings)
