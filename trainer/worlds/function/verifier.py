"""The function verifier: what a call, a test and an answer are, and whether the rule was found.

The one payment is 1 for the value of the hidden rule at the test numbers. `rejudge` recomputes
everything from the agent's recorded words. Deterministic; knows nothing about prompts or shaping.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from trainer.episode import Speaker, Turn
from trainer.message import Action, Choice, read_action
from trainer.task import Task
from trainer.worlds.seam import Verdict

from .formula import PLACES, Undefined, evaluate, numbers_in, same  # noqa: TID252 - by path

TOLERANCE = 1e-6
"""How far an answer may be from the value."""
SLACK = 1e-9
"""A difference this little above the tolerance has not passed it: decimals round."""
MAX_NUMBER = 1e6
"""Largest number, without its sign, at which the rule may be called."""


class Move(StrEnum):
    """What one action of the agent does; the names are those of the events."""

    CALLED = "called"
    CALL_UNDEFINED = "call_undefined"
    CALL_REFUSED = "call_refused"
    TEST_SHOWN = "test_shown"
    SEARCH_UNCLEAR = "search_unclear"
    ANSWER_RIGHT = "answer_right"
    ANSWER_WRONG = "answer_wrong"
    ANSWER_UNREADABLE = "answer_unreadable"
    FINISHED = "finished"
    MALFORMED = "malformed"


class Effect(NamedTuple):
    """A move, and what there is to say about it."""

    move: Move
    value: float = 0.0
    """Result of a call, to four decimals."""
    reason: str = ""
    """Why a call was refused."""


@dataclass(frozen=True)
class FunctionState:
    """What has happened so far, as far as it matters for the verdict."""

    solved: bool = False
    num_calls: int = 0
    num_wrong: int = 0

    def after(self, move: Move) -> FunctionState:
        """Return the state after a move."""
        return replace(
            self,
            solved=self.solved or move is Move.ANSWER_RIGHT,
            num_calls=self.num_calls + (move is Move.CALLED),
            num_wrong=self.num_wrong + (move is Move.ANSWER_WRONG),
        )


def effect(task: Task, action: Action) -> Effect:
    """Return what an action does in a task."""
    match action.choice:
        case Choice.SEARCH:
            asked = action.content.strip().strip(".'\"").lower() == "test"
            return Effect(Move.TEST_SHOWN if asked else Move.SEARCH_UNCLEAR)
        case Choice.ACTION:
            return _call(task.payload, action.content)
        case Choice.ANSWER:
            return Effect(_answer(task.payload, action.content))
        case Choice.FINISH:
            return Effect(Move.FINISHED)
        case Choice.TOOL | Choice.MALFORMED:
            return Effect(Move.MALFORMED)


def is_right(answer: float, expected: float) -> bool:
    """True when an answer is within the tolerance of the value."""
    return abs(answer - expected) <= TOLERANCE + SLACK


def verdict(task: Task, state: FunctionState) -> Verdict:
    """Judge a state; nothing is left to be paid, since the right answer paid at once."""
    return Verdict(
        success=float(state.solved),
        reward=0.0,
        metrics={
            "solved": float(state.solved),
            "sum": float(state.solved),
            "calls": float(state.num_calls),
            "wrong_answers": float(state.num_wrong),
        },
    )


def rejudge(
    task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
) -> Verdict:
    """Judge a recorded dialogue from the agent's words alone."""
    state = FunctionState()
    for turn in turns:
        if turn.speaker is Speaker.AGENT:
            state = state.after(effect(task, read_action(turn.text)).move)
    return verdict(task, state)


def _call(payload: Mapping[str, Any], content: str) -> Effect:
    numbers = [round(number, PLACES) for number in numbers_in(content)]
    if len(numbers) != 4:
        return Effect(Move.CALL_REFUSED, reason=f"it needs four numbers, found {len(numbers)}")
    # Compared after rounding, or 3.0000001 would stand for the 3 that may not be asked for.
    if all(same(mine, test) for mine, test in zip(numbers, payload["test_case"], strict=True)):
        return Effect(Move.CALL_REFUSED, reason="these are the test numbers")
    if not all(abs(number) <= MAX_NUMBER and number == int(number) for number in numbers):
        limit = f"whole numbers from {-MAX_NUMBER:.0f} to {MAX_NUMBER:.0f}"
        return Effect(Move.CALL_REFUSED, reason=f"it takes {limit}")
    try:
        return Effect(Move.CALLED, value=round(evaluate(payload["rule"], numbers), PLACES))
    except Undefined:
        return Effect(Move.CALL_UNDEFINED)


def _answer(payload: Mapping[str, Any], content: str) -> Move:
    try:
        answer = float(content.strip())
    except ValueError:
        return Move.ANSWER_UNREADABLE
    if not math.isfinite(answer):
        return Move.ANSWER_UNREADABLE
    right = is_right(answer, payload["expected_result"])
    return Move.ANSWER_RIGHT if right else Move.ANSWER_WRONG
