"""The turtle verifier: how much of the story behind the story an answer tells.

Each criterion is worth its weight in hundredths and is told wholly, half or not, by groups of
keywords; no model is asked. An answer pays what it is better than the best before. Sums are of
whole numbers, so a perfect answer reaches exactly 1. `rejudge` recomputes everything from a
recorded dialogue. Deterministic; knows nothing about prompts, shaping or user engines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.message import Choice, read_action
from trainer.task import Task
from trainer.worlds.seam import Verdict

SLACK = 1e-9
"""A score this little below the threshold has reached it."""
SUCCESS_THRESHOLD = 1.0
MAX_WORDS = 300
"""Words of an answer that are read, so that a dictionary is no story."""
MIN_PREFIX = 4
"""A keyword of at least so many letters also fits longer words: `drown` fits `drowned`."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class TurtleState:
    """What has happened so far, as far as it matters for the verdict."""

    best: float = 0.0
    """The best score of any answer, in [0, 1]."""
    num_answers: int = 0
    heard: frozenset[str] = frozenset()
    """Ids of the clues that replies told."""

    def answer(self, task: Task, content: str) -> TurtleState:
        """Return the state after an answer."""
        scored = score(weights(task), halves(task, content))
        return replace(self, best=max(self.best, scored), num_answers=self.num_answers + 1)

    def hear(self, task: Task, revealed: Sequence[str]) -> TurtleState:
        """Return the state after a reply of the user; unknown ids are ignored."""
        known = {fact.id for fact in task.facts}
        return replace(self, heard=self.heard | (known & set(revealed)))


def weights(task: Task) -> list[int]:
    """Return the weight of each criterion in hundredths."""
    return [criterion["weight"] for criterion in task.payload["criteria"]]


def halves(task: Task, content: str) -> list[int]:
    """Return for each criterion how many of its two halves an answer tells: 0, 1 or 2."""
    words = _WORD.findall(content.casefold())[:MAX_WORDS]
    full, half = task.payload["full_share"], task.payload["half_share"]
    found = []
    for criterion in task.payload["criteria"]:
        groups = criterion["groups"]
        told = sum(any(_holds(words, phrase) for phrase in group) for group in groups)
        share = told / len(groups) + SLACK
        found.append(2 if share >= full else int(told > 0 and share >= half))
    return found


def score(weights: Sequence[int], halves: Sequence[int]) -> float:
    """Return the weighted share of the criteria that are told, in [0, 1].

    Args:
        weights: Weight of each criterion, in hundredths.
        halves: 0, 1 or 2 for each.

    Raises:
        ValueError: if the two differ in length.
    """
    told = sum(weight * half for weight, half in zip(weights, halves, strict=True))
    return told / (2 * sum(weights))


def pay(scored: float, best: float) -> float:
    """Return the reward of an answer: what it is better than the best before."""
    return max(0.0, scored - best)


def is_solved(best: float, threshold: float = SUCCESS_THRESHOLD) -> bool:
    """True when a score reaches the threshold."""
    return best >= threshold - SLACK


def verdict(task: Task, state: TurtleState, threshold: float = SUCCESS_THRESHOLD) -> Verdict:
    """Judge a state; nothing is left to be paid, since each better answer paid at once."""
    solved = float(is_solved(state.best, threshold))
    return Verdict(
        success=solved,
        reward=0.0,
        metrics={
            "solved": solved,
            "sum": state.best,
            "answers": float(state.num_answers),
            "clues_heard": float(len(state.heard)),
        },
    )


def rejudge(
    task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
) -> Verdict:
    """Judge a recorded dialogue from the agent's words and the ids that replies disclosed."""
    threshold = float((settings or {}).get("success_threshold", SUCCESS_THRESHOLD))
    state = TurtleState()
    for turn in turns:
        if turn.speaker is Speaker.USER:
            state = state.hear(task, turn.revealed)
        elif turn.speaker is Speaker.AGENT:
            action = read_action(turn.text)
            if action.choice is Choice.ANSWER:
                state = state.answer(task, action.content)
    return verdict(task, state, threshold)


def _holds(words: Sequence[str], phrase: str) -> bool:
    """True when the words of a phrase stand in a row, each perhaps with an ending."""
    wanted = _WORD.findall(phrase.casefold())
    return any(
        all(_fits(words[start + index], word) for index, word in enumerate(wanted))
        for start in range(len(words) - len(wanted) + 1)
    )


def _fits(word: str, wanted: str) -> bool:
    return word == wanted or (len(wanted) >= MIN_PREFIX and word.startswith(wanted))
