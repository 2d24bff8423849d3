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
from trainer.worlds.sandbox import client
from trainer.worlds.seam import Opening, StepResult, Verdict

from . import reading, verifier, wording  # noqa: TID252 - the folder is loaded by path
from .verifier import ColbenchState  # noqa: TID252

# Episodes may not start processes, so the sandbox is there before they are forked.
client.shared()


class ColbenchEnv:
    """One function's dialogue; see `trainer.worlds.seam.Env`."""

    def __init__(self, task: Task, settings: Mapping[str, Any]) -> None:
        self._task = task
        self._settings = settings
        self._style = settings.get("prompt_style", wording.FULL)
        if self._style not in (wording.COMPACT, wording.FULL):
            raise ValueError(f"prompt_style is {self._style!r}; choose compact or full")
        self._max_steps = int(settings.get("max_steps", verifier.TURN_LIMIT))
        self._state = ColbenchState()
        self._started = False

    def start(self) -> Opening:
        """Begin the dialogue; a second call is a bug of the caller."""
        if self._started:
            raise RuntimeError("this world was started already; make a new one for each episode")
        self._started = True
        return Opening(wording.system(self._style, self._max_steps), self._task.opening)

    def act(self, action: Action) -> StepResult:
        """Pass words on to the colleague, or run the answer.

        Raises:
            SandboxError: if the answer cannot be run for a reason that is not its own.
        """
        if not self._started:
            raise RuntimeError("start() comes first")
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
            case Choice.SEARCH:
                return self._malformed("there is nothing to search in this world")
            case Choice.TOOL:
                return self._malformed(f"there is no tool named {action.name[:40]!r}")
            case Choice.MALFORMED:
                return self._malformed(action.content)

    def hear(self, reply: Reply) -> StepResult:
        """Note the facts that a reply discloses for the first time.

        Raises:
            ValueError: if the reply names a fact that the task does not have.
        """
        unknown = set(reply.revealed) - {fact.id for fact in self._task.facts}
        if unknown:
            raise ValueError(f"task {self._task.id} has no facts {sorted(unknown)}")
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
