"""The turtle verifier: how much of the story behind the story an answer tells.

Each criterion is worth its weight in hundredths and is told wholly, half or not: by groups of
keywords, or by the word of a judge where one is there. An answer pays what it is better than the
best before. Sums are of whole numbers, so a perfect answer reaches exactly 1. `rejudge` recomputes
everything from a recorded dialogue. Deterministic; knows nothing about prompts or user engines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.message import Choice, read_action
from trainer.question import Answers, Passage, Question, Questions, unanswered
from trainer.task import Task
from trainer.worlds.seam import Verdict

SLACK = 1e-9
"""A score this little below the threshold has reached it."""
SUCCESS_THRESHOLD = 1.0
MAX_WORDS = 300
"""Words of an answer that are read, so that a dictionary is no story."""
MIN_PREFIX = 4
"""A keyword of at least so many letters also fits longer words: `drown` fits `drowned`."""

WHOLE_HALF_NOT = (0.0, 0.5, 1.0)
"""What a judge may give a criterion."""
ASKS = (
    "An agent was told the surface of a strange story and now tells the whole story behind it. How "
    "much of each point does its story tell, by meaning and not by words: 1 for all of it, 0.5 for "
    "a part of it, 0 for nothing of it or its contrary?"
)

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class TurtleState:
    """What has happened so far, as far as it matters for the verdict."""

    best: float = 0.0
    """The best score of any answer, in [0, 1]."""
    num_answers: int = 0
    heard: frozenset[str] = frozenset()
    """Ids of the clues that replies told."""

    def answer(self, task: Task, halves: Sequence[int]) -> TurtleState:
        """Return the state after an answer that tells so many halves of each criterion."""
        scored = score(weights(task), halves)
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


def question(task: Task, content: str) -> Question | None:
    """Return what a judge is asked about an answer; None where it has no words to be judged."""
    words = content.split()[:MAX_WORDS]
    if not words:
        return None
    criteria = task.payload["criteria"]
    return Question(
        asks=ASKS,
        criteria=tuple(criterion["statement"] for criterion in criteria),
        material=(
            Passage("the surface, as the agent knows it", task.opening),
            Passage("the story that the agent tells", " ".join(words)),
        ),
        allowed=WHOLE_HALF_NOT,
    )


def judged_halves(task: Task, content: str, answers: Answers) -> list[int] | None:
    """Return what `halves` does, by a judge's word; None where it has not been given.

    Args:
        task: The riddle.
        content: The answer's words.
        answers: What a judge said, by question.
    """
    asked = question(task, content)
    if asked is None:
        return [0] * len(task.payload["criteria"])
    told = answers.get(asked.digest)
    return None if told is None else [round(2 * value) for value in told]


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
    task: Task,
    turns: Sequence[Turn],
    settings: Mapping[str, Any] | None = None,
    answers: Answers | None = None,
) -> Verdict | Questions:
    """Judge a recorded dialogue from the agent's words and the ids that replies disclosed.

    Args:
        task: The riddle that was played.
        turns: The recorded conversation.
        settings: The world's settings at the time; with `judge`, a judge's word counts.
        answers: What a judge said, by question.

    Returns:
        The verdict, or what a judge must be asked for it.
    """
    made_with = settings or {}
    threshold = float(made_with.get("success_threshold", SUCCESS_THRESHOLD))
    if made_with.get("judge"):
        asked = [question(task, content) for content in _stories(turns)]
        missing = unanswered((one for one in asked if one is not None), answers or {})
        if missing is not None:
            return missing
    state = TurtleState()
    for turn in turns:
        if turn.speaker is Speaker.USER:
            state = state.hear(task, turn.revealed)
    for content in _stories(turns):
        by_judge = judged_halves(task, content, answers or {}) if made_with.get("judge") else None
        state = state.answer(task, halves(task, content) if by_judge is None else by_judge)
    return verdict(task, state, threshold)


def _stories(turns: Sequence[Turn]) -> list[str]:
    """Return the content of every answer."""
    said = [read_action(turn.text) for turn in turns if turn.speaker is Speaker.AGENT]
    return [action.content for action in said if action.choice is Choice.ANSWER]


def _holds(words: Sequence[str], phrase: str) -> bool:
    """True when the words of a phrase stand in a row, each perhaps with an ending."""
    wanted = _WORD.findall(phrase.casefold())
    return any(
        all(_fits(words[start + index], word) for index, word in enumerate(wanted))
        for start in range(len(words) - len(wanted) + 1)
    )


def _fits(word: str, wanted: str) -> bool:
    return word == wanted or (len(wanted) >= MIN_PREFIX and word.startswith(wanted))
