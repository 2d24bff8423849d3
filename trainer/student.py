"""Student's t for whole degrees of freedom, in plain Python: its quantiles and its power.

A mean over a few seeds asks for one of them; loading a numerical library for it would take longer
than everything else that a reading command does.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

LEVEL = 0.05
"""Share of tests, two-sided, that find a difference where there is none."""
POWER = 0.8
"""Share of tests that find a difference which is called one that could be seen."""
STRIPS = 512
"""Strips of the integral over the estimated standard error; an even number."""
HALVINGS = 48
"""Halvings of a bracket of a few hundred, which leave less than 1e-11 of it."""


def quantile(share: float, *, freedom: int) -> float:
    """Return the value that a t variable stays below with this probability.

    Args:
        share: The probability, at least 0.5 and below 1.
        freedom: Degrees of freedom, at least 1.

    Raises:
        ValueError: if an argument is out of its range.
    """
    if not 0.5 <= share < 1.0 or freedom < 1:
        raise ValueError(
            f"share {share} and freedom {freedom}; give a share from 0.5 to below 1, and 1 or more"
        )
    low, high = 0.0, math.pi / 2
    # In the angle of Abramowitz and Stegun the whole range is finite: halve it until it is used up.
    while low < (middle := (low + high) / 2) < high:
        if (1 + _within(middle, freedom)) / 2 < share:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """Return P(|T| <= sqrt(freedom) tan(angle)) (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4)."""
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= cosine**2 * (power + 1) / (power + 2)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


@lru_cache
def detectable(freedom: int) -> float:
    """Return the difference that four tests in five find at the 5% level, in standard errors.

    With many degrees of freedom it is 2.80; with few, the standard error is itself a guess, and
    it takes 3.76 (5 paired values) or 5.65 (3 of them).

    Args:
        freedom: Degrees of freedom of the standard error, at least 1.

    Raises:
        ValueError: if there are none.
    """
    critical = quantile(1 - LEVEL / 2, freedom=freedom)
    low, high = 0.0, 4 * critical
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _power(middle, critical, freedom) < POWER:
            low = middle
        else:
            high = middle
    return high


def _power(difference: float, critical: float, freedom: int) -> float:
    """Return P(T > critical) of a noncentral t: Simpson's rule over the estimated standard error.

    The other tail, a difference found with the wrong sign, is left out: it is below 1e-4 wherever
    four tests in five find anything.
    """
    normal = NormalDist()
    root = math.sqrt(freedom)
    # That estimate is chi distributed, with a standard deviation below 0.71: nine is far enough.
    low, high = max(0.0, root - 9), root + 9
    width = (high - low) / STRIPS
    constant = (freedom / 2 - 1) * math.log(2) + math.lgamma(freedom / 2)
    total = 0.0
    for at in range(STRIPS + 1):
        chi = low + at * width
        if chi == 0.0 and freedom > 1:
            continue
        log_density = (freedom - 1) * math.log(chi) if freedom > 1 else 0.0
        density = math.exp(log_density - chi**2 / 2 - constant)
        weight = 1 if at in (0, STRIPS) else 4 if at % 2 else 2
        total += weight * density * normal.cdf(difference - critical * chi / root)
    return total * width / 3
