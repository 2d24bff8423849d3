"""What a task hides, as texts, and how much of one of them a reply holds.

Each world's answer is read from its task by a literal table; a world that the table does not know
is held against its facts alone. Nothing here knows who replied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from trainer.probe.spoken import facts_in, normalised
from trainer.task import Task
from trainer.users.cues import content_words, words_of
from trainer.users.seam import UserReply

FEWEST_WORDS = 6
"""Own words of a reference from which a share of them says something."""
FEWEST_FACTS = 3
"""Facts that one reply must tell before their share of all that is hidden counts: a task with few
facts has nothing to spread."""
WINDOW = 40
"""Characters in a row that are looked for."""
SHORTEST = 24
"""Characters of a short answer from which finding it whole in a reply is no chance."""


class Likeness(NamedTuple):
    """How much of a reference one text holds."""

    share: float
    """Of the answer's own words, which the opening does not say, or of the facts; in [0, 1]."""
    in_a_row: int
    """Characters in a row, 0 where fewer than `WINDOW`; `WINDOW` for a whole short answer."""
    what: str
    """Which reference it is, for a message."""


ANSWERS: Mapping[str, Callable[[Task], str]] = {
    "colbench": lambda task: str(task.payload["reference"]),
    "turtle": lambda task: " ".join(str(entry["statement"]) for entry in task.payload["criteria"]),
    "telepathy": lambda task: " ".join(map(str, task.payload["names"])),
    "persuasion": lambda task: " ".join(fact.text for fact in task.facts),
}
"""The reference answer of a task, by world."""


def likeness(task: Task, reply: UserReply) -> Likeness:
    """Return how much a reply holds of the reference that it holds most of."""
    spoken = normalised(reply.text)
    told = facts_in(task, reply)
    return max(
        _to_answer(_answer(task), spoken, task.opening),
        _to_facts(task, told),
        key=lambda one: (one.share, one.in_a_row),
    )


def _answer(task: Task) -> str:
    return ANSWERS[task.world](task) if task.world in ANSWERS else ""


def _to_answer(answer: str, spoken: str, opening: str) -> Likeness:
    own = _own_words(answer, opening)
    said = content_words(words_of(spoken))
    share = len(own & said) / len(own) if len(own) >= FEWEST_WORDS else 0.0
    return Likeness(share, _in_a_row(spoken, normalised(answer)), "the reference answer")


def _to_facts(task: Task, told: frozenset[str]) -> Likeness:
    """Return how much of everything that the user holds back stands in one reply, fact by fact."""
    share = len(told) / len(task.facts) if len(told) >= FEWEST_FACTS else 0.0
    return Likeness(share, 0, "everything that the user holds back")


@lru_cache(maxsize=4096)
def _own_words(text: str, opening: str) -> frozenset[str]:
    return content_words(words_of(text)) - content_words(words_of(opening))


def _in_a_row(spoken: str, reference: str) -> int:
    """Return the length of the longest piece that both hold, 0 below `WINDOW`.

    A reference shorter than that counts as one if all of it is there.
    """
    if SHORTEST <= len(reference) < WINDOW:
        return WINDOW if reference in spoken else 0
    longest = 0
    start = 0
    while start + max(WINDOW, longest + 1) <= len(reference):
        if reference[start : start + max(WINDOW, longest + 1)] in spoken:
            longest = max(WINDOW, longest + 1)
        else:
            start += 1
    return longest
