"""User settings: the knobs a user engine reads, as one value.

Ranges and defaults are declared with the knobs; here a missing setting is a fault of the program
that resolved them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class UserSettings:
    """The user knobs of one world, resolved."""

    facts_per_reply: int
    match_threshold: float
    """Score in [0, 1] from which a question counts as asking for a fact."""
    max_reveals: int
    """How often one fact may be disclosed in a dialogue, repeats included."""
    min_questions: int
    """Agent messages that ask something before the user accepts an answer."""
    reveal_kinds: tuple[str, ...]
    """Kinds, prefixes such as `hotel.*`, or `*` (see `disclosure.kind_matches`)."""
    volunteer_after: int | None
    """Messages in a row without a usable question that make the user offer a fact; None: never."""
    max_reply_chars: int
    persona: str
    """Name of a persona of the world; only a model plays it."""
    llm_temperature: float


_NAMES = tuple(UserSettings.__dataclass_fields__)


def read_settings(settings: Mapping[str, Any]) -> UserSettings:
    """Return the settings of a request.

    Raises:
        ValueError: if one is missing, naming it.
    """
    try:
        return UserSettings(
            settings["facts_per_reply"],
            settings["match_threshold"],
            settings["max_reveals"],
            settings["min_questions"],
            tuple(settings["reveal_kinds"]),
            settings["volunteer_after"],
            settings["max_reply_chars"],
            settings["persona"],
            settings["llm_temperature"],
        )
    except KeyError:
        missing = [name for name in _NAMES if name not in settings]
        raise ValueError(
            f"user settings lack {', '.join(missing)}; resolve every user knob for the task's world"
        ) from None
