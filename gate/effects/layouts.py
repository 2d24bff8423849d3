"""When a reversal test switches: drawn by chance from all layouts that would do.

A layout is a pair of steps, counted from the opening: from the first on the new values are in
force, from the second on the old ones again. Because the pair was drawn, the other pairs that
might have been drawn tell exactly how surprising the measured difference is.

Source:
    Bojinov, Simchi-Levi, Zhao 2023, Design and analysis of switchback experiments.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """The two switches of one reversal test, in steps from its opening."""

    forth: int
    """The first step under the new values."""
    back: int
    """The first step under the old values again."""


def admissible(steps: int, shortest: int) -> tuple[Layout, ...]:
    """Return every layout whose three phases are long enough.

    Args:
        steps: Steps of the whole test.
        shortest: Steps that each phase has at least, washout included.

    Raises:
        ValueError: if there is none.
    """
    found = tuple(
        Layout(forth, back)
        for forth in range(shortest, steps - 2 * shortest + 1)
        for back in range(forth + shortest, steps - shortest + 1)
    )
    if not found:
        raise ValueError(
            f"three phases of {shortest} steps do not fit into {steps}; "
            f"give the test at least {3 * shortest} steps"
        )
    return found


def draw(steps: int, shortest: int, rng: random.Random) -> Layout:
    """Return one admissible layout by chance; call once, before the test opens."""
    return rng.choice(admissible(steps, shortest))


def phases(
    values: Sequence[float], layout: Layout, *, shortest: int, washout: int
) -> tuple[Sequence[float], Sequence[float], Sequence[float]]:
    """Return the steps of the three phases that count: old, new, old again.

    Both old phases count with equally many steps, those next to the new one, so that a linear
    trend cancels wherever the switches fell.

    Args:
        values: One number per step of the test.
        layout: Its switches.
        shortest: Steps that each phase has at least, as it was declared.
        washout: Steps after each switch that do not count; fewer than `shortest`.
    """
    counted = shortest - washout
    start = layout.back + washout
    return (
        values[layout.forth - counted : layout.forth],
        values[layout.forth + washout : layout.back],
        values[start : start + counted],
    )


def contrast(values: Sequence[float], layout: Layout, *, shortest: int, washout: int) -> float:
    """Return the mean of the new phase minus the mean of both old ones (see `phases`)."""
    first, new, last = phases(values, layout, shortest=shortest, washout=washout)
    return statistics.fmean(new) - (statistics.fmean(first) + statistics.fmean(last)) / 2
