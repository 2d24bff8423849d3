"""Values that cross from hostile code to trusted code: plain JSON, and nothing that can act.

`encode` runs beside the hostile code and may be tampered with; `decode` believes nothing, limits
size and depth, and builds built-in values alone, so an object with an `__eq__` of its own never
reaches a comparison. A value of any other type travels as the name of its type.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

MAX_DEPTH = 50
"""Deepest nesting of a value that travels."""
MAX_PLAIN_INT = 1 << 62
MAX_INT_DIGITS = 20_000
"""Hexadecimal digits of the largest whole number that travels."""


class ValueRefusedError(ValueError):
    """A value that cannot travel; the message says which limit it breaks."""


@dataclass(frozen=True)
class Opaque:
    """Stands for a value whose type does not travel; it equals nothing, itself included."""

    type_name: str

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return hash(self.type_name)


def encode(value: Any) -> str:
    """Return the text that carries a value.

    Raises:
        ValueRefusedError: if the value is nested deeper than `MAX_DEPTH`.
    """
    return json.dumps(_tag(value, 0), allow_nan=False, separators=(",", ":"))


def decode(text: str) -> Any:
    """Return the value that a text carries.

    Raises:
        ValueRefusedError: if the text was not made by `encode`.
    """
    try:
        return _untag(json.loads(text, parse_constant=_refuse), 0)
    except ValueRefusedError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise ValueRefusedError(f"not a value: {type(error).__name__}") from None


def _tag(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueRefusedError(f"nested deeper than {MAX_DEPTH}")
    if value is None or value is True or value is False:
        return value
    # The built-in's own method is called, so a subclass cannot answer in its place.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        number = int.__int__(value)
        if abs(number) < MAX_PLAIN_INT:
            return number
        if number.bit_length() > 4 * MAX_INT_DIGITS:
            raise ValueRefusedError(f"a number of {number.bit_length()} bits")
        return {"i": hex(number)}
    if isinstance(value, float):
        number = float.__float__(value)
        return number if math.isfinite(number) else {"f": repr(number)}
    if isinstance(value, list):
        return [_tag(entry, depth + 1) for entry in list.__iter__(value)]
    if isinstance(value, dict):
        pairs = dict.items(value)
        return {"d": [[_tag(key, depth + 1), _tag(entry, depth + 1)] for key, entry in pairs]}
    for name, (kind, taken_apart, _) in _TYPES.items():
        if isinstance(value, kind):
            parts = taken_apart(value)
            if isinstance(parts, list):
                parts = [_tag(entry, depth + 1) for entry in parts]
            return {name: parts}
    return {"o": type(value).__name__[:64]}


def _untag(value: Any, depth: int) -> Any:
    if depth > 2 * MAX_DEPTH:
        raise ValueRefusedError(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, list):
        return [_untag(entry, depth + 1) for entry in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueRefusedError("a tagged value has one tag")
    ((tag, body),) = value.items()
    if tag == "d":
        return {_untag(key, depth + 1): _untag(entry, depth + 1) for key, entry in body}
    if tag == "o":
        return Opaque(str(body)[:64])
    if tag not in _TYPES:
        raise ValueRefusedError(f"unknown tag {tag[:16]!r}")
    if isinstance(body, list):
        body = [_untag(entry, depth + 1) for entry in body]
    return _TYPES[tag][2](body)


def _refuse(name: str) -> float:
    raise ValueRefusedError(f"{name} is not a JSON number")


def _parts(value: Any) -> list[Any]:
    return list(value)


def _set_parts(value: Any) -> list[Any]:
    return sorted(value, key=repr)


_TYPES: Mapping[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "i": (int, hex, lambda body: int(body[: MAX_INT_DIGITS + 3], 16)),
    "f": (float, repr, lambda body: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[body]),
    "t": (tuple, _parts, tuple),
    "s": (set, _set_parts, set),
    "z": (frozenset, _set_parts, frozenset),
    "b": (bytes, bytes.hex, bytes.fromhex),
    "c": (complex, lambda c: [c.real, c.imag], lambda body: complex(*body)),
    "D": (Decimal, Decimal.__str__, Decimal),
    "R": (Fraction, lambda r: [r.numerator, r.denominator], lambda body: Fraction(*body)),
    "M": (datetime, datetime.isoformat, datetime.fromisoformat),
    "Y": (date, date.isoformat, date.fromisoformat),
    "H": (time, time.isoformat, time.fromisoformat),
    "E": (
        timedelta,
        lambda d: [d.days, d.seconds, d.microseconds],
        lambda body: timedelta(*body),
    ),
}
"""Tag -> (type, what of a value travels, how it is rebuilt); a subclass stands before its base."""
