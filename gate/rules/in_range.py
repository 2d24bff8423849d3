"""A value lies within its knob's range, bounds included where the schema includes them.

A value out of range is refused, never clamped; one that is not a number breaks every bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract import knobs
from gate.contract.findings import Finding
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="A value lies in the range of its knob; it is refused, never clamped.",
    answers="EAU: the range check of its gate.",
)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every new value outside its knob's range."""
    for change in change_set.changes:
        spec = knobs.specs().get(change.knob)
        value = change.new
        if spec is None or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        # Written so that NaN, which compares false with everything, is out of range.
        if not (spec.low is None or value >= spec.low):
            limit, side = spec.low, "below"
        elif not (spec.high is None or value <= spec.high):
            limit, side = spec.high, "above"
        else:
            continue
        yield change_set.finding(
            "in-range",
            change.path,
            f"{change.path} is {value}, {side} {limit}; the range is {spec.low} to {spec.high}.",
            "Choose a value in the range; values are never clamped.",
            value=value,
            limit=limit,
        )
