"""An interval and a test of a mean that stay right however often they are looked at.

For display beside the fixed interval: a person who watches a live run looks at every step, and a
fixed interval that is looked at sixty times is wrong a third of the time.

Source:
    Robbins 1970; the normal mixture with prior standard deviation tau.
"""

from __future__ import annotations

import math

LEVEL = 0.05
"""Chance that the interval ever misses the mean."""


def half_width(sd: float, steps: int, *, tau: float, level: float = LEVEL) -> float:
    """Return how far the always-valid interval reaches to either side of the mean.

    Args:
        sd: Standard deviation of one step.
        steps: Steps so far.
        tau: Size of the effects it should be sharpest for.
        level: Chance that it ever misses.
    """
    total = sd**2 + steps * tau**2
    spread = sd**2 * total / (steps * tau) ** 2
    return math.sqrt(spread * (2 * math.log(1 / level) + math.log(total / sd**2)))


def likelihood_ratio(mean: float, sd: float, steps: int, *, tau: float) -> float:
    """Return the evidence against a mean of zero; reject once it reaches 1 / level.

    Args:
        mean: Mean of the steps so far.
        sd: Standard deviation of one step.
        steps: Steps so far.
        tau: Size of the effects it should be sharpest for.
    """
    total = sd**2 + steps * tau**2
    return math.sqrt(sd**2 / total) * math.exp((steps * tau * mean) ** 2 / (2 * sd**2 * total))
