"""Randomisation tests: how surprising a difference is among those that chance could have drawn.

A second opinion beside the interval, without any model of the noise. It is exact because the
design drew the assignment; where nobody drew anything, the answer is only a comparison.
Enumerated while that is cheap, otherwise drawn with the generator that the caller gives.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Iterable, Sequence

from gate.effects import layouts
from gate.effects.layouts import Layout

MOST_ENUMERATED = 1 << 16
"""Assignments up to which all of them are looked at."""

DRAWS = 9_999
"""Assignments that are drawn where there are more."""

# Sums of the same numbers in another order may differ in the last bits, and are ties.
_SLACK = 1e-12


def sign_flips(differences: Sequence[float], rng: random.Random) -> float:
    """Return the two-sided p-value of paired differences whose signs chance decided.

    Args:
        differences: New minus old of each step of concurrent arms.
        rng: Chance, used beyond sixteen steps.
    """
    observed = abs(math.fsum(differences))
    if 1 << len(differences) <= MOST_ENUMERATED:
        sums = [0.0]
        for difference in differences:
            sums = [total + sign * difference for total in sums for sign in (1, -1)]
        return _share(observed, (abs(total) for total in sums))
    drawn = (
        abs(math.fsum(rng.choice((1, -1)) * difference for difference in differences))
        for _ in range(DRAWS)
    )
    return _share_with_observed(observed, drawn)


def two_samples(
    new: Sequence[float], old: Sequence[float], rng: random.Random, *, two_sided: bool = True
) -> float:
    """Return the p-value of a difference of means between two exchangeable sets.

    Steps of a run are not exchangeable over time; whole blocks or sides of a batch can be.

    Args:
        new: Numbers under the new values.
        old: Numbers under the old ones.
        rng: Chance, used where there are more than `MOST_ENUMERATED` ways to divide them.
        two_sided: Whether a difference the other way is as surprising; otherwise only a larger
            mean of `new` is.
    """
    pool = [*new, *old]
    total, size = math.fsum(pool), len(new)

    def statistic(chosen: Iterable[float]) -> float:
        part = math.fsum(chosen)
        difference = part / size - (total - part) / len(old)
        return abs(difference) if two_sided else difference

    observed = statistic(new)
    if math.comb(len(pool), size) <= MOST_ENUMERATED:
        return _share(observed, (statistic(part) for part in itertools.combinations(pool, size)))
    drawn = (statistic(rng.sample(pool, size)) for _ in range(DRAWS))
    return _share_with_observed(observed, drawn)


def switches(values: Sequence[float], layout: Layout, *, shortest: int, washout: int) -> float:
    """Return the two-sided p-value of a reversal among all layouts that might have been drawn.

    A trend common to all layouts is taken out by the contrast. With 21 layouts the smallest
    p-value is .0476.

    Args:
        values: One number per step of the test.
        layout: The switches that were drawn.
        shortest: Steps that each phase has at least, as declared.
        washout: Steps after each switch that do not count.
    """
    found = {
        other: abs(layouts.contrast(values, other, shortest=shortest, washout=washout))
        for other in layouts.admissible(len(values), shortest)
    }
    return _share(found[layout], found.values())


def _share(observed: float, others: Iterable[float]) -> float:
    return statistics.fmean(other >= observed - _SLACK for other in others)


def _share_with_observed(observed: float, drawn: Iterable[float]) -> float:
    as_large = sum(other >= observed - _SLACK for other in drawn)
    return (1 + as_large) / (1 + DRAWS)
