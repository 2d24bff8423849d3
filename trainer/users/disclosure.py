"""Disclosure: which facts a user may still reveal, by kind, count and withdrawal.

One reading of the knobs `reveal_kinds` and `max_reveals` for every user. What a question matched
and how a fact is voiced are decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from trainer.task import Fact
from trainer.users.seam import UserState


class Standing(StrEnum):
    """Whether a fact may be revealed now, and if not, why not."""

    OPEN = "open"
    SPENT = "spent"
    """It was disclosed `max_reveals` times; a repeated disclosure counts like the first."""
    WITHDRAWN = "withdrawn"
    """It has become pointless."""
    WITHHELD = "withheld"
    """Its kind is not among the `reveal_kinds`."""


def kind_matches(kind: str, patterns: Iterable[str]) -> bool:
    """Return whether a kind is selected by one of the patterns.

    A pattern is a whole kind (`hotel.room`), a prefix that ends in `*` (`hotel.*`), or `*`.
    """
    for pattern in patterns:
        if pattern == kind:
            return True
        if pattern.endswith("*") and kind.startswith(pattern[:-1]):
            return True
    return False


def unmatched_patterns(patterns: Iterable[str], kinds: Iterable[str]) -> list[str]:
    """Return the patterns that select none of the kinds: selectors that resolve to nothing."""
    known = list(kinds)
    return [
        pattern for pattern in patterns if not any(kind_matches(kind, (pattern,)) for kind in known)
    ]


def standing(
    fact: Fact, state: UserState, *, reveal_kinds: Sequence[str], max_reveals: int
) -> Standing:
    """Return whether the user may reveal a fact now."""
    if not kind_matches(fact.kind, reveal_kinds):
        return Standing.WITHHELD
    if fact.id in state.withdrawn:
        return Standing.WITHDRAWN
    if state.reveal_counts.get(fact.id, 0) >= max_reveals:
        return Standing.SPENT
    return Standing.OPEN
