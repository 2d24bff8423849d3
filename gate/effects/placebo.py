"""The placebo floor: how large a difference looks when nothing was changed.

The contrast of a test is slid over steps without a change. What it shows there is what it shows
for no reason; an effect below that floor is not to be told from nothing. The floor is a property
of one run, one contrast and one window, and is stored with its definition.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

LEVEL = 0.95
"""The share of placebos that stay at or below the floor."""

_SLACK = 1e-12


def contrasts(history: Sequence[float], *, before: int, gap: int, after: int) -> tuple[float, ...]:
    """Return after minus before at every place of a history without changes.

    Args:
        history: One number per step, oldest first.
        before: Steps of the window before.
        gap: Steps left out between the windows.
        after: Steps of the window after.
    """
    places = range(before, len(history) - gap - after + 1)
    return tuple(
        statistics.fmean(history[place + gap : place + gap + after])
        - statistics.fmean(history[place - before : place])
        for place in places
    )


def floor(placebos: Sequence[float]) -> float:
    """Return the size that 95% of the placebos do not exceed.

    Raises:
        ValueError: if there are none.
    """
    if not placebos:
        raise ValueError("no placebo fits into the history; use a shorter window or wait")
    sizes = sorted(abs(placebo) for placebo in placebos)
    return sizes[math.ceil(LEVEL * len(sizes) - _SLACK) - 1]


def p_value(observed: float, placebos: Sequence[float]) -> float:
    """Return the share of differences at least as large, the observed one counted among them.

    Nineteen placebos are the fewest that can give .05. Neighbouring placements share steps, so
    this is a check against self-deception and not an exact test.
    """
    as_large = sum(abs(placebo) >= abs(observed) - _SLACK for placebo in placebos)
    return (1 + as_large) / (1 + len(placebos))
