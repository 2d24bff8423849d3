"""The search verifier: what an action is, and whether an answer is the wanted one.

An answer is right when it equals the wanted one, or another name of it, without case, articles
and punctuation; no model is asked. `rejudge` recomputes everything from the agent's recorded
words. Deterministic; knows nothing about prompts or shaping.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.message import Action, Choice, read_action
from trainer.task import Task
from trainer.worlds.seam import Verdict

MAX_SEARCHES = 5

_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})


class Move(StrEnum):
    """What one action of the agent does, before a search has looked for anything."""

    SEARCH = "search"
    SEARCH_REFUSED = "search_refused"
    ANSWER_RIGHT = "answer_right"
    ANSWER_WRONG = "answer_wrong"
    FINISHED = "finished"
    MALFORMED = "malformed"


@dataclass(frozen=True)
class SearchState:
    """What has happened so far, as far as it matters for the verdict."""

    answered: bool = False
    num_searches: int = 0
    num_wrong: int = 0

    def after(self, move: Move) -> SearchState:
        """Return the state after a move."""
        return replace(
            self,
            answered=self.answered or move is Move.ANSWER_RIGHT,
            num_searches=self.num_searches + (move is Move.SEARCH),
            num_wrong=self.num_wrong + (move is Move.ANSWER_WRONG),
        )


def move(task: Task, state: SearchState, action: Action, max_searches: int) -> Move:
    """Return what an action does in a state."""
    match action.choice:
        case Choice.SEARCH:
            left = state.num_searches < max_searches
            return Move.SEARCH if left else Move.SEARCH_REFUSED
        case Choice.ANSWER:
            right = is_right(task.payload["answers"], action.content)
            return Move.ANSWER_RIGHT if right else Move.ANSWER_WRONG
        case Choice.FINISH:
            return Move.FINISHED
        case Choice.ACTION | Choice.TOOL | Choice.MALFORMED:
            return Move.MALFORMED


def is_right(answers: Sequence[str], given: str) -> bool:
    """True when what is given equals one of the answers after normalisation."""
    words = normalised(given)
    return bool(words) and any(words == normalised(answer) for answer in answers)


def normalised(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, case folded, without articles and punctuation."""
    words = _WORD.findall(text.casefold().replace("'s", "s"))
    return tuple(word for word in words if word not in _ARTICLES)


def verdict(task: Task, state: SearchState) -> Verdict:
    """Judge a state; nothing is left to be paid, since the right answer paid at once."""
    return Verdict(
        success=float(state.answered),
        reward=0.0,
        metrics={
            "answered": float(state.answered),
            "sum": float(state.answered),
            "searches": float(state.num_searches),
            "wrong_answers": float(state.num_wrong),
        },
    )


def rejudge(
    task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
) -> Verdict:
    """Judge a recorded dialogue from the agent's words alone."""
    max_searches = int((settings or {}).get("max_searches", MAX_SEARCHES))
    state = SearchState()
    for turn in turns:
        if turn.speaker is Speaker.AGENT:
            state = state.after(move(task, state, read_action(turn.text), max_searches))
    return verdict(task, state)
