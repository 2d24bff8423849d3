"""Straight lines through a series: its trend, and how level and slope change at a moment.

Least squares over equally spaced steps, nothing else. A line that is drawn on beyond its steps is
a guess; the contrasts in `gate.effects.estimate` do not use one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Line:
    """The least-squares line through a series whose first step is 0."""

    level: float
    """Its value at the first step."""
    slope: float
    """Its rise per step."""
    residuals: tuple[float, ...]

    @property
    def sd(self) -> float:
        """Standard deviation of the residuals with two degrees of freedom spent on the line."""
        return math.sqrt(math.fsum(r * r for r in self.residuals) / (len(self.residuals) - 2))

    def at(self, step: float) -> float:
        """Return its value at a step, counted from the first of the series."""
        return self.level + self.slope * step


class Segments(NamedTuple):
    """An interrupted series: one line before a moment, another from it on."""

    level: float
    slope: float
    level_change: float
    """Jump at the moment, beyond where the first line would have been."""
    slope_change: float


def line(values: Sequence[float]) -> Line:
    """Return the least-squares line through a series.

    Raises:
        ValueError: if there are fewer than three values: a line fits two exactly.
    """
    n = len(values)
    if n < 3:
        raise ValueError(f"{n} steps cannot show a trend and the noise around it; give at least 3")
    middle, mean = (n - 1) / 2, math.fsum(values) / n
    spread = n * (n * n - 1) / 12
    slope = math.fsum((t - middle) * (y - mean) for t, y in enumerate(values)) / spread
    level = mean - slope * middle
    return Line(level, slope, tuple(y - level - slope * t for t, y in enumerate(values)))


def interrupted(values: Sequence[float], moment: int) -> Segments:
    """Return level and slope of a series, and how both change at a moment.

    Args:
        values: One value per step.
        moment: Index of the first step of the second segment; at least three steps on each side.

    Source:
        Segmented regression y = b0 + b1 t + b2 [t >= moment] + b3 (t - moment) [t >= moment].
    """
    before, after = line(values[:moment]), line(values[moment:])
    return Segments(
        level=before.level,
        slope=before.slope,
        level_change=after.level - before.at(moment),
        slope_change=after.slope - before.slope,
    )


def slope_t(values: Sequence[float], *, inflation: float = 1.0) -> float:
    """Return how many standard errors the slope of a series is away from flat.

    Args:
        values: One value per step.
        inflation: Long-run over plain standard deviation (`Noise.inflation`), at least 1: noise
            that lasts over several steps looks like a slope.
    """
    fitted, n = line(values), len(values)
    se = inflation * fitted.sd / math.sqrt(n * (n * n - 1) / 12)
    if se == 0:
        return math.copysign(math.inf, fitted.slope) if fitted.slope else 0.0
    return fitted.slope / se
