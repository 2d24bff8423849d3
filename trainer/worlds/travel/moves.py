"""Reads what an agent's search or answer refers to in a travel task.

Pure functions of the task's payload and a text, shared by the world and its verifier, so that
both understand an action in the same way. Nothing here keeps state or judges a choice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

NO_PROPERTIES = ("id", "cost", "type", "reason")
"""Fields of an option that no wish is about; the last two are the verifier's and stay hidden."""

_OPTION_ID = re.compile(r"\b([A-Za-z])-?(\d{1,4})\b")
_WORD = re.compile(r"[a-z]+")

_ALIASES = {
    "flight": ("flight", "flights", "plane"),
    "hotel": ("hotel", "hotels"),
    "restaurant": ("restaurant", "restaurants"),
    "rental_car": ("rental", "car", "cars"),
    "apartment": ("apartment", "apartments"),
}


def named_aspects(payload: Mapping[str, Any], text: str) -> list[str]:
    """Return the aspects of the task that a text names, in the task's order."""
    words = set(_WORD.findall(text.lower()))
    return [
        aspect
        for aspect in payload["dimensions"]
        if words & set(_ALIASES.get(aspect, _WORD.findall(aspect.lower())))
    ]


def named_options(text: str) -> list[str]:
    """Return the option ids that a text names, upper-case, each once."""
    found = (f"{letter.upper()}{int(number)}" for letter, number in _OPTION_ID.findall(text))
    return list(dict.fromkeys(found))


def named_values(options: Sequence[Mapping[str, Any]], text: str) -> dict[str, str]:
    """Return the properties that a text asks for, topic -> value, among those of some options.

    A value counts when it stands in the text as whole words, whatever its case.
    """
    lowered = text.lower()
    return {
        topic: value
        for option in options
        for topic, value in option.items()
        if topic not in NO_PROPERTIES
        and isinstance(value, str)
        and value.lower() in lowered
        and re.search(rf"\b{re.escape(value.lower())}\b", lowered)
    }


def fits(option: Mapping[str, Any], wishes: Mapping[str, str]) -> bool:
    """True when an option has every wished property; one that lacks a field does not."""
    return all(option.get(topic) == value for topic, value in wishes.items())


def aspect_of(payload: Mapping[str, Any], option_id: str) -> str | None:
    """Return the aspect whose ids begin with the option's letter, or None."""
    for aspect in payload["dimensions"]:
        if str(payload[aspect]["best_id"])[:1] == option_id[:1]:
            return aspect
    return None


def search_fails(number: int, every: int) -> bool:
    """True when the search of this number, counted from 1, meets the deliberate failure.

    Args:
        number: Which search of the episode it is; every search counts, also an unclear one.
        every: One in so many fails; 0 means none does.
    """
    return every > 0 and number % every == 0
