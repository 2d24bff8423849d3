"""The turtle world: questions go to the user, stories are scored here, a whole one ends it.

It has no tools and no chance of its own, and it never quotes a criterion. What a story is worth
is `verifier`'s word, what is said about it `wording`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.episode import StopReason
from trainer.message import Action, Choice, Reply
from trainer.question import Answers, Questions
from trainer.task import Task
from trainer.worlds import refusals
from trainer.worlds.disclosure import refuse_unknown
from trainer.worlds.prompt_style import prompt_style
from trainer.worlds.seam import Opening, StepResult, Verdict
from trainer.worlds.single_use import single_use

from . import verifier, wording  # noqa: TID252 - the folder is loaded by path
from .verifier import TurtleState  # noqa: TID252


@single_use
class TurtleEnv:
    """One riddle; see `trainer.worlds.seam.Env`."""

    def __init__(self, task: Task, settings: Mapping[str, Any]) -> None:
        self._task = task
        self._style = prompt_style(settings)
        self._max_steps = int(settings.get("max_steps", 16))
        self._threshold = float(settings.get("success_threshold", verifier.SUCCESS_THRESHOLD))
        self._judged = bool(settings.get("judge"))
        self._told = ""
        """The answer that a judge is being asked about."""
        self._state = TurtleState()

    def start(self) -> Opening:
        """Begin the riddle."""
        return Opening(wording.system(self._style, self._max_steps), self._task.opening)

    def act(self, action: Action) -> StepResult | Questions:
        """Pass a question on to the user, or score a story; a judge is asked first if one is."""
        match action.choice:
            case Choice.ACTION:
                return StepResult(say=action.content)
            case Choice.ANSWER:
                return self._score(action.content)
            case Choice.FINISH:
                return StepResult(events=("finished",), stop=StopReason.FAILED)
            case _:
                return self._malformed(refusals.reason(action))

    def hear(self, reply: Reply) -> StepResult:
        """Note what a reply tells; it earns nothing."""
        refuse_unknown(self._task, reply.revealed, "clues")
        before, self._state = self._state, self._state.hear(self._task, reply.revealed)
        num_new = len(self._state.heard) - len(before.heard)
        return StepResult(events=("clue_told",) * num_new or ("off_topic",))

    def verdict(self) -> Verdict:
        """Judge what has happened so far."""
        return verifier.verdict(self._task, self._state, self._threshold)

    def answered(self, answers: Answers) -> StepResult:
        """Score the story that a judge was asked about.

        Raises:
            ValueError: if the judge's word on it is missing.
        """
        told = verifier.judged_halves(self._task, self._told, answers)
        if told is None:
            raise ValueError("a judge's word on the answer is missing")
        return self._answer(told)

    def _score(self, content: str) -> StepResult | Questions:
        asked = verifier.question(self._task, content) if self._judged else None
        if asked is None:
            return self._answer(verifier.halves(self._task, content))
        self._told = content
        return Questions((asked,))

    def _answer(self, told: list[int]) -> StepResult:
        scored = verifier.score(verifier.weights(self._task), told)
        reward = verifier.pay(scored, self._state.best)
        self._state = self._state.answer(self._task, told)
        solved = verifier.is_solved(self._state.best, self._threshold)
        return StepResult(
            observation=wording.feedback(self._style, told, solved),
            events=("story_solved" if solved else "story_better" if reward else "story_no_better",),
            reward=reward,
            stop=StopReason.SOLVED if solved else None,
        )

    def _malformed(self, reason: str) -> StepResult:
        return StepResult(wording.malformed(self._style, reason), events=("malformed",))


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> TurtleEnv:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    return TurtleEnv(task, settings)
