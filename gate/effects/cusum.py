"""The lower CUSUM: an alarm for a mean that has dropped, for logs and displays.

It is quick and says when, not why: an alarm is a reason to look, never a verdict.

Source:
    Page 1954; slack .5 and alarm 4 in standard deviations.
"""

from __future__ import annotations

from collections.abc import Iterable

SLACK = 0.5
"""Standard deviations of a drop that are let pass at each step."""

ALARM = 4.0
"""Accumulated drop at which it sounds, in standard deviations."""


def lower(standardised: Iterable[float]) -> tuple[float, ...]:
    """Return the accumulated drop after each step.

    Args:
        standardised: Deviations from the baseline mean in standard deviations, oldest first.
    """
    total, path = 0.0, list[float]()
    for z in standardised:
        total = max(0.0, total - z - SLACK)
        path.append(total)
    return tuple(path)


def alarm_at(standardised: Iterable[float]) -> int | None:
    """Return the index of the step at which the alarm first sounds; None if it does not."""
    for index, total in enumerate(lower(standardised)):
        if total >= ALARM:
            return index
    return None
