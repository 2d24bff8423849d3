"""The intention world: the agent asks, the user answers, and what the answers disclose counts.

It has no tools and no chance of its own. It ends as soon as every missing detail is covered.
What a question is worth is `verifier`'s word.
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
from .verifier import IntentionState  # noqa: TID252


@single_use
class IntentionEnv:
    """One vague request's dialogue; see `trainer.worlds.seam.Env`."""

    def __init__(self, task: Task, settings: Mapping[str, Any]) -> None:
        self._task = task
        self._style = prompt_style(settings)
        self._max_steps = int(settings.get("max_steps", 16))
        self._state = IntentionState()

    def start(self) -> Opening:
        """Begin the dialogue."""
        system = wording.system(self._style, self._task.payload, self._max_steps)
        return Opening(system, self._task.opening)

    def act(self, action: Action) -> StepResult:
        """Pass a question on to the user; `[answer]` is a question too, as in IntentionGym."""
        match action.choice:
            case Choice.ACTION | Choice.ANSWER:
                return StepResult(say=action.content)
            case Choice.FINISH:
                return StepResult(events=("finished",), stop=StopReason.FAILED)
            case _:
                return self._malformed(refusals.reason(action))

    def hear(self, reply: Reply) -> StepResult:
        """Count and pay what a reply discloses for the first time."""
        details = verifier.importance_by_id(self._task)
        refuse_unknown(self._task, reply.revealed, "details", known=details)
        before, self._state = self._state, self._state.hear(self._task, reply.revealed)
        num_new = len(self._state.covered) - len(before.covered)
        if not num_new:
            return StepResult(events=("off_topic",))
        solved = len(self._state.covered) == len(details)
        return StepResult(
            events=("detail_covered",) * num_new + ("several_details",) * (num_new > 1),
            reward=verifier.paid(self._task, self._state.turn_rewards[-1]),
            stop=StopReason.SOLVED if solved else None,
        )

    def verdict(self) -> Verdict:
        """Judge what has been covered so far."""
        return verifier.verdict(self._task, self._state)

    def _malformed(self, reason: str) -> StepResult:
        return StepResult(wording.malformed(self._style, reason), events=("malformed",))


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> IntentionEnv:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    return IntentionEnv(task, settings)
