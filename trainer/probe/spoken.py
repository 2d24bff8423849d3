"""Which facts stand in a reply: those that it names, and those whose very words it says."""

from __future__ import annotations

import re
from functools import lru_cache

from trainer.task import Fact, Task
from trainer.users.seam import UserReply

SHORTEST_CHARS = 12
"""Characters of a statement from which finding it in a reply is no chance."""

_OTHER = re.compile(r"[^\w.]+|\.(?!\w)")


def facts_in(task: Task, reply: UserReply) -> frozenset[str]:
    """Return the ids of the facts that a reply tells.

    Args:
        task: The task whose facts are looked for.
        reply: A user's reply.
    """
    return frozenset(reply.revealed) | said_in(task, reply.text)


def said_in(task: Task, text: str) -> frozenset[str]:
    """Return the ids of the facts whose statement or text stands in a text, word for word.

    Two facts with the same words count as one, since nobody could tell which of them was told.
    """
    spoken = f" {normalised(text)} "
    found: dict[str, str] = {}
    for fact in task.facts:
        for words in _wordings(fact):
            if f" {words} " in spoken:
                found.setdefault(words, fact.id)
    return frozenset(found.values())


@lru_cache(maxsize=65536)
def normalised(text: str) -> str:
    """Return a text in lower case, its words and numbers divided by single spaces."""
    return " ".join(_OTHER.sub(" ", text.casefold()).split())


@lru_cache(maxsize=16384)
def _wordings(fact: Fact) -> tuple[str, ...]:
    words = (normalised(fact.statement), normalised(fact.text))
    return tuple(one for one in words if len(one) >= SHORTEST_CHARS)
