"""After a window has closed: how many steps a change took to show.

One change of the mean, by least squares, accepted only if it pays for its freedom. The answer
feeds the expected lag of later tests and takes part in no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

FEWEST_STEPS = 5
"""Steps on each side of a change of the mean."""


def change_point(values: Sequence[float], *, long_run_sd: float) -> int | None:
    """Return the index from which the mean is another one; None if one mean will do.

    Args:
        values: One number per step, from the step that the change came into force; the trend of
            the baseline is taken out.
        long_run_sd: Noise of one step (`Noise.long_run_sd`).
    """
    penalty = 2 * long_run_sd**2 * math.log(max(len(values), 1))
    places = range(FEWEST_STEPS, len(values) - FEWEST_STEPS + 1)
    best = min(places, key=lambda place: _cost(values, place), default=None)
    if best is None or _cost(values, 0) - _cost(values, best) <= penalty:
        return None
    return best


def _cost(values: Sequence[float], place: int) -> float:
    return _squares(values[:place]) + _squares(values[place:])


def _squares(values: Sequence[float]) -> float:
    if not values:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)
