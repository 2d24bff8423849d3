"""What a person probably meant by a value of the wrong type.

Each hint is one sentence that says what to write. This module knows nothing about files or
ranges; a hint is advice, never a conversion: the value stays refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any, cast

from rapidfuzz import fuzz, process

from gate.contract.knobs import characters
from gate.contract.knobs.tree import resolve

CLOSE = 70.0
"""Likeness in percent from which a name is suggested for an unknown one."""

_YES = ("y", "yes", "on", "true")
_NO = ("n", "no", "off", "false")
_PERCENT = re.compile(r"([-+]?[0-9]+(?:\.[0-9]+)?)\s*%\Z")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+([eE][-+]?[0-9]+)?\Z")
_CLOCK = re.compile(r"([0-9]+):([0-5]?[0-9])(?::([0-5]?[0-9]))?\Z")
_PADDED = re.compile(r"[-+]?0+[0-9]+\Z")
_GROUPED = re.compile(r"[-+]?[0-9]+(_[0-9]+)+\Z")
_UNIT = re.compile(r"([-+]?[0-9]+(?:\.[0-9]+)?)\s*[A-Za-z]+\Z")
_BASED = re.compile(r"0[xob][0-9a-fA-F_]+\Z")


def meant(value: Any, wanted: str) -> str | None:
    """Return what to write instead of a value of the wrong type; None when nobody can tell.

    Args:
        value: The JSON value found.
        wanted: The JSON Schema type that belongs there.
    """
    if wanted in ("number", "integer"):
        return _number(value)
    if wanted == "boolean":
        return _switch(value)
    if wanted == "string" and not isinstance(value, dict | list):
        return f'If it is a text, put it in quotes: "{json.dumps(value)}".'
    if wanted == "array" and isinstance(value, str):
        return f"Write it as a list: {json.dumps([value], ensure_ascii=False)}."
    return None


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that is most like an unknown one, if one is like it at all."""
    found = process.extractOne(name, sorted(known), scorer=fuzz.ratio, score_cutoff=CLOSE)
    if found is not None:
        return found[0]
    # "tau" for "tau2" and "travelgym" for "travel" are names cut short or drawn out.
    parts = [other for other in sorted(known) if other.startswith(name) or name.startswith(other)]
    return parts[0] if len(name) > 1 and len(parts) == 1 else None


def odd(text: str) -> str | None:
    """Return the sentence about the first lookalike character in a text, if it has one."""
    character = characters.lookalike(text)
    if character is None:
        return None
    instead = characters.LOOKALIKES[character]
    return f"It contains {characters.name(character)}: replace it with {instead}."


def _number(value: Any) -> str | None:
    if isinstance(value, bool):
        return "Write a number; true and false are none."
    if isinstance(value, list):
        items = cast("Sequence[Any]", value)
        single = len(items) == 1 and isinstance(items[0], int | float)
        return f"Write {items[0]} without brackets." if single else None
    if not isinstance(value, str):
        return None
    return odd(value) or _number_from_text(value.strip())


def _number_from_text(text: str) -> str | None:
    if text.lower() in _YES + _NO:
        return f"Write a number; {text} is a yes or no to some YAML readers and a word to others."
    if text.lower() in ("nan", "inf", "-inf", "+inf", "infinity", "-infinity"):
        return "Write a finite number."
    if found := _PERCENT.match(text):
        return f"Write {float(found[1]) / 100:.12g}."
    if _DECIMAL_COMMA.match(text):
        return f"Write it with a point: {text.replace(',', '.')}."
    if found := _CLOCK.match(text):
        parts = [int(part) for part in found.groups() if part is not None]
        seconds = sum(part * 60**power for power, part in enumerate(reversed(parts)))
        return f"Write one number; if it is a time, {seconds} seconds."
    if _PADDED.match(text):
        return f"Write {int(text)}; a leading zero means base 8 to some YAML readers."
    if _GROUPED.match(text):
        return f"Write {text.replace('_', '')}."
    if _BASED.match(text):
        return "Write it in decimal digits."
    if isinstance(resolve(text), int | float):
        return f"Remove the quotes: {text}."
    found = _UNIT.match(text)
    return f"Write {found[1]} alone; the name of the knob says the unit." if found else None


def _switch(value: Any) -> str | None:
    text = str(value).lower()
    if text in (*_YES, "1"):
        return "Write true."
    return "Write false." if text in (*_NO, "0") else None
