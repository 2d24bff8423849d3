"""An always-valid interval is wider than a fixed one, and right at every look."""

from __future__ import annotations

import itertools
import random

import pytest

from gate.effects import always_valid
from gate.effects.student import NORMAL_975


def test_its_half_width_is_that_of_the_normal_mixture() -> None:
    assert always_valid.half_width(0.1, 10, tau=0.1) == pytest.approx(0.09606, abs=1e-5)
    fixed = NORMAL_975 * 0.1 / 10**0.5
    assert fixed == pytest.approx(0.06198, abs=1e-5)


def test_a_mean_outside_the_interval_is_rejected_by_its_ratio() -> None:
    assert always_valid.likelihood_ratio(0.1, 0.1, 10, tau=0.1) == pytest.approx(28.40, abs=5e-3)
    edge = always_valid.half_width(0.1, 10, tau=0.1)
    assert always_valid.likelihood_ratio(edge, 0.1, 10, tau=0.1) == pytest.approx(20.0)


def test_sixty_looks_fool_a_fixed_test_and_not_this_one() -> None:
    rng, runs = random.Random(1), 600
    fixed = valid = 0
    for _ in range(runs):
        totals = list(enumerate(itertools.accumulate(rng.gauss(0, 1) for _ in range(60)), start=1))
        fixed += any(abs(total) / n**0.5 > NORMAL_975 for n, total in totals)
        valid += any(
            always_valid.likelihood_ratio(total / n, 1.0, n, tau=1.0) >= 20 for n, total in totals
        )
    assert fixed / runs == pytest.approx(0.336, abs=0.05)
    assert valid / runs <= 0.04
