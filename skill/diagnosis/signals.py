"""Signals: numbers over the steps of a run, and summaries that one odd step cannot move.

Medians and ranks only, in pure Python; a missing or non-finite number is no number. Nothing here
knows what a signal means.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Point(NamedTuple):
    """A number at a step."""

    step: int
    value: float


class Shift(NamedTuple):
    """How a series went from its first third to its last."""

    before: float
    """Median of the first third."""
    after: float
    """Median of the last third."""
    noise: float
    """Standard deviation of the change if there were none, from how far neighbours jump."""

    @property
    def change(self) -> float:
        """After less before."""
        return self.after - self.before

    def rises(self, least: float) -> bool:
        """True when the change is at least so much, and more than twice the noise."""
        return self.change >= max(least, 2.0 * self.noise)


def number(record: Mapping[str, Any], path: str) -> float | None:
    """Return a number by its dotted name, such as `learner.entropy`; None where there is none."""
    value: Any = record
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def series(steps: Iterable[Mapping[str, Any]], path: str) -> list[Point]:
    """Return a number at each step that has it.

    Args:
        steps: Step records, in order.
        path: Dotted name of the number, such as `learner.kl`.
    """
    found: list[Point] = []
    for record in steps:
        value, step = number(record, path), record.get("step")
        if value is not None and isinstance(step, int):
            found.append(Point(step, value))
    return found


def values(steps: Iterable[Mapping[str, Any]], path: str) -> list[float]:
    """Return a number's values in the order of the steps."""
    return [point.value for point in series(steps, path)]


def median(numbers: Sequence[float]) -> float | None:
    """Return the median, None of nothing."""
    return statistics.median(numbers) if numbers else None


def mean(numbers: Sequence[float]) -> float | None:
    """Return the mean, None of nothing."""
    return math.fsum(numbers) / len(numbers) if numbers else None


def shift(numbers: Sequence[float], *, least: int = 12) -> Shift | None:
    """Return how a series went, None when it has fewer than `least` points.

    Args:
        numbers: A value for each step, in order.
        least: Below this many, a third is too short for its median to mean anything.
    """
    if len(numbers) < least:
        return None
    third = len(numbers) // 3
    jumps = [abs(later - sooner) for sooner, later in itertools.pairwise(numbers)]
    # Independent noise of deviation s jumps by 0.95 s in the median; the difference of two medians
    # of n such numbers deviates by sqrt(2) * 1.25 s / sqrt(n).
    noise = statistics.median(jumps) / 0.95 * 1.77 / math.sqrt(third)
    return Shift(statistics.median(numbers[:third]), statistics.median(numbers[-third:]), noise)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation, None where one side has a single value.

    Source:
        Pearson's correlation of average ranks, which handles ties.
    """
    if len(first) < 3 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return statistics.correlation(ranks(first), ranks(second))


def ranks(numbers: Sequence[float]) -> list[float]:
    """Return each number's rank from 1, ties sharing their mean rank."""
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    found = [0.0] * len(numbers)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and numbers[order[end]] == numbers[order[start]]:
            end += 1
        for place in order[start:end]:
            found[place] = (start + end + 1) / 2.0
        start = end
    return found


def likeness(first: str, second: str) -> float:
    """Return the share of words that two texts have in common, in [0, 1], repeats counted.

    Case does not matter; two empty texts are alike.

    Source:
        Jaccard's index of multisets.
    """
    left, right = Counter(first.lower().split()), Counter(second.lower().split())
    whole = (left | right).total()
    return (left & right).total() / whole if whole else 1.0
