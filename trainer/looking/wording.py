"""Values of records in few words, on one line.

What comes from a record is text, whatever it holds: whoever prints it makes control characters
visible (`trainer.show.visible`). Nothing here knows where the words go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LONGEST_VALUE = 60
"""Characters of a value that are shown; the record has them all."""
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def value(found: Any, *, most: int = LONGEST_VALUE) -> str:
    """Return a value of a record on one line, cut to so many characters."""
    text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def moved(changes: Sequence[Mapping[str, Any]]) -> str:
    """Return which knobs move, from what to what.

    Args:
        changes: Maps with `path` and, where there is a value, `old` and `new`.
    """
    return ", ".join(
        f"{one.get('path')} {value(one.get('old', 'no override'))} -> "
        f"{value(one.get('new', 'no override'))}"
        for one in changes
    )


def decisive(findings: Sequence[Mapping[str, Any]]) -> str:
    """Return the finding that decided a refusal, and its next step: the first error, if any.

    Args:
        findings: As a report or the ledger has them, warnings among them.
    """
    errors = [one for one in findings if one.get("severity") == "error"]
    first = next(iter([*errors, *findings]), {})
    return f"{first.get('message', '')} {first.get('next_step', '')}".strip()


def interval(measured: Mapping[str, float]) -> str:
    """Return a measured effect with its interval, from `difference`, `low` and `high`."""
    return "{difference:+.3f} ({low:+.3f} to {high:+.3f})".format_map(measured)


def spans(steps: Iterable[int]) -> str:
    """Return steps in few words, as in `3, 12 to 15`."""
    runs: list[list[int]] = []
    for step in sorted(set(steps)):
        if runs and runs[-1][1] == step - 1:
            runs[-1][1] = step
        else:
            runs.append([step, step])
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in runs)


def duration(seconds: float) -> str:
    """Return a time span by its two largest units, as in `1 h 05 min`."""
    whole = max(0, round(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02d} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02d} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR:02d} h"
