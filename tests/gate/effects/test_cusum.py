"""The lower CUSUM adds up drops and forgets rises."""

from __future__ import annotations

import random
import statistics

import pytest

from gate.effects import cusum


def test_drops_add_up_beyond_their_slack() -> None:
    assert cusum.lower([0.2, -1.2, -0.8, -1.5, -2.0]) == pytest.approx((0, 0.7, 1.0, 2.0, 3.5))


def test_it_sounds_at_four() -> None:
    assert cusum.alarm_at([0.2, -1.2, -0.8, -1.5, -2.0]) is None
    assert cusum.alarm_at([0.2, -1.2, -0.8, -1.5, -2.0, -1.0]) == 5


def test_a_drop_of_one_standard_deviation_is_noticed_within_eight_steps_or_so() -> None:
    rng = random.Random(2)
    delays = [cusum.alarm_at([rng.gauss(-1, 1) for _ in range(100)]) for _ in range(1000)]
    found = [delay + 1 for delay in delays if delay is not None]
    assert len(found) == 1000
    assert statistics.fmean(found) == pytest.approx(8.4, abs=0.4)
