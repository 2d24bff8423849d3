"""JSON values: copies, comparison by meaning, and differences as a list of pointers.

A number is one number whether it was written `1` or `1.0`, and whichever way its last bits were
rounded; `true` is not a number. Nothing here knows what a value stands for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

SLACK = 1e-9
"""Numbers that differ by less, absolutely or relative to the larger one, are the same."""
ABSENT: Final = "<absent>"
"""Stands for a value that is not there, as the reference lists of changes write it."""


class Change(NamedTuple):
    """One place at which two values differ."""

    pointer: str
    """JSON pointer (RFC 6901), such as `/orders/#W1/status`."""
    old: Any
    new: Any


def clone(value: Any) -> Any:
    """Return a copy of a JSON value that shares no container with it."""
    if isinstance(value, dict):
        return {key: clone(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [clone(entry) for entry in value]
    return value


def same(left: Any, right: Any) -> bool:
    """Return whether two JSON values mean the same."""
    return next(changes(left, right), None) is None


def is_number(value: Any) -> bool:
    """Return whether a JSON value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def changes(old: Any, new: Any, pointer: str = "") -> Iterator[Change]:
    """Yield every place at which two values differ, in the order of the sorted keys.

    Containers that are the very same object are passed over, so that the cost is that of what
    was touched. Lists are compared by position.
    """
    if old is new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            left, right = old.get(key, ABSENT), new.get(key, ABSENT)
            if left is not right:
                yield from changes(left, right, f"{pointer}/{_escaped(key)}")
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            left = old[index] if index < len(old) else ABSENT
            right = new[index] if index < len(new) else ABSENT
            yield from changes(left, right, f"{pointer}/{index}")
    elif not _is_same_plain(old, new):
        yield Change(pointer, old, new)


def _is_same_plain(old: Any, new: Any) -> bool:
    if is_number(old) and is_number(new):
        return math.isclose(old, new, rel_tol=SLACK, abs_tol=SLACK)
    return isinstance(old, bool) is isinstance(new, bool) and old == new


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
