"""JSON values: copies, comparison by meaning, and differences as a list of pointers.

A number is one number whether it was written `1` or `1.0`; `true` is not a number. Nothing here
knows what a value stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

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
    elif isinstance(old, bool) is not isinstance(new, bool) or old != new:
        yield Change(pointer, old, new)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
