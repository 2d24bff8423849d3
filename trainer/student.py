"""Student's t for whole degrees of freedom, in plain Python.

A mean over a few seeds asks for one quantile; loading a numerical library for it would take longer
than everything else that a reading command does.
"""

from __future__ import annotations

import math


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
