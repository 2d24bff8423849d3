"""Two wishes of one customer as one task: both are opened with, and both must be carried out.

What the customer tells about the second matter says so, since two orders have two numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from trainer.worlds.tau2.drafts import Draft, Told


class Business(Protocol):
    """A shop or an airline under construction."""

    users: dict[str, Any]
    regular: dict[str, Any] | None


B = TypeVar("B", bound=Business)


def both(
    first: Callable[[B, str], Draft], second: Callable[[B, str], Draft]
) -> Callable[[B, str], Draft]:
    """Return the wish for one thing and then another, of one customer."""

    def make(business: B, draft_id: str) -> Draft:
        one = first(business, draft_id)
        business.regular = list(business.users.values())[-1]
        other = second(business, draft_id)
        business.regular = None
        return joined(one, other)

    return make


def joined(one: Draft, other: Draft) -> Draft:
    """Return two tasks of one customer as one; what both tell or do is told or done once."""
    known = {told.statement for told in one.told}
    more = tuple(_second(told) for told in other.told if told.statement not in known)
    return replace(
        one,
        opening=f"{one.opening} And besides, {other.opening.partition(', ')[2]}",
        goal=f"{one.goal} Then: {other.goal}",
        told=(*one.told, *more),
        steps=(*one.steps, *(step for step in other.steps if step not in one.steps)),
        communicate=(*one.communicate, *other.communicate),
    )


def _second(told: Told) -> Told:
    words = told.statement
    words = words if words.startswith("I ") else words[:1].lower() + words[1:]
    cues = (f"second matter: {told.cues[0]}", *told.cues)
    return Told(f"second_{told.kind}", f"As to the second matter, {words}", cues)
