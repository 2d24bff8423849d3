"""The colbench world: ask a colleague, then answer with code that is run on hidden calls.

It has no tools and no chance of its own. It ends with the answer; the last message is one. What
an answer is worth is `verifier`'s word, and where it is run is the sandbox's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trainer.episode import StopReason
from trainer.message import Action, Choice, Reply
from trainer.task import Task
from trainer.worlds import refusals
from trainer.worlds.disclosure import refuse_unknown
from trainer.worlds.prompt_style import prompt_style
from trainer.worlds.sandbox import client
from trainer.worlds.seam import Opening, StepResult, Verdict
from trainer.worlds.single_use import single_use

from . import reading, verifier, wording  # noqa: TID252 - the folder is loaded by path
from .verifier import ColbenchState  # noqa: TID252

# Episodes may not start processes, so the sandbox is there before they are forked.
client.shared()


@single_use
class ColbenchEnv:
    """One function's dialogue; see `trainer.worlds.seam.Env`."""

    def __init__(self, task: Task, settings: Mapping[str, Any]) -> None:
        self._task = task
        self._settings = settings
        self._style = prompt_style(settings)
        self._max_steps = int(settings.get("max_steps", verifier.TURN_LIMIT))
        self._state = ColbenchState()

    def start(self) -> Opening:
        """Begin the dialogue."""
        return Opening(wording.system(self._style, self._max_steps), self._task.opening)

    def act(self, action: Action) -> StepResult:
        """Pass words on to the colleague, or run the answer.

        Raises:
            SandboxError: if the answer cannot be run for a reason that is not its own.
        """
        self._state = replace(self._state, num_turns=self._state.num_turns + 1)
        if self._state.grade is not None:
            return self._malformed("the answer was given already")
        is_last = self._state.num_turns >= self._max_steps
        answer = verifier.answer_of(action, is_last=is_last)
        if answer is not None:
            marked = action.choice is Choice.ANSWER or reading.MARKER in action.content
            return self._answer(answer, at_limit=not marked)
        match action.choice:
            case Choice.ACTION | Choice.ANSWER:
                words = reading.spoken(action.content)
                return StepResult(say=words) if words else self._malformed("nothing was said")
            case Choice.FINISH:
                return StepResult(events=("finished",), stop=StopReason.FAILED)
            case _:
                return self._malformed(refusals.reason(action))

    def hear(self, reply: Reply) -> StepResult:
        """Note the facts that a reply discloses for the first time."""
        refuse_unknown(self._task, reply.revealed)
        new = set(reply.revealed) - self._state.learnt
        self._state = replace(self._state, learnt=self._state.learnt | new)
        return StepResult(events=("fact_learnt",) * len(new) or ("off_topic",))

    def verdict(self) -> Verdict:
        """Judge the answer, or its absence."""
        return verifier.verdict(self._task, self._state, self._settings)

    def _answer(self, answer: str, *, at_limit: bool) -> StepResult:
        given = verifier.judge(self._task, answer, self._settings)
        self._state = replace(self._state, grade=given)
        passed = verifier.share(given, self._settings)
        solved = passed >= 1.0 - verifier.SLACK
        events = ["tests_all" if solved else "tests_some" if passed else "tests_none"]
        events += ["tolerant_match"] * bool(given.num_tolerant)
        events += ["answered_at_limit"] * at_limit
        events += ["unsandboxed"] * (not given.sandboxed)
        if solved:
            stop = StopReason.SOLVED
        else:
            # Words that were no answer leave the ending to the turn limit.
            stop = None if at_limit and not passed else StopReason.FAILED
        return StepResult(events=tuple(events), reward=passed, stop=stop)

    def _malformed(self, reason: str) -> StepResult:
        return StepResult(wording.malformed(self._style, reason), events=("malformed",))


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> ColbenchEnv:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    return ColbenchEnv(task, settings)
