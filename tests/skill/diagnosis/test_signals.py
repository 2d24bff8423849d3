"""Summaries are robust, exact on hand-worked numbers, and blind to numbers that are none."""

from __future__ import annotations

import math
import random

import pytest

from skill.diagnosis import signals


def test_numbers_are_found_by_dotted_name_and_only_if_finite() -> None:
    record = {"a": {"b": 2, "c": math.nan, "d": True, "e": "3"}, "f": math.inf}
    assert signals.number(record, "a.b") == 2.0
    for path in ("a.c", "a.d", "a.e", "f", "a", "a.b.c", "z.z"):
        assert signals.number(record, path) is None


def test_a_shift_is_told_by_medians_of_the_outer_thirds() -> None:
    shift = signals.shift([1, 1, 100, 1, 5, 5, 5, 5, 3, 3, -50, 3])
    assert shift is not None
    assert (shift.before, shift.after, shift.change) == (1.0, 3.0, 2.0)
    assert signals.shift([1.0] * 11) is None


def test_a_straight_line_rises_and_noise_alone_seldom_does() -> None:
    line = signals.shift([index / 40 for index in range(40)])
    assert line is not None and line.rises(0.05)
    chance = random.Random(3)
    rising = 0
    for _ in range(400):
        shift = signals.shift([chance.gauss(0.5, 0.228) for _ in range(40)])
        assert shift is not None
        rising += shift.rises(0.05)
    # One-sided, two deviations: 2.3% were the noise known and the medians normal.
    assert rising <= 24


def test_rank_correlation_of_hand_worked_ranks() -> None:
    assert signals.ranks([10.0, 30.0, 20.0, 30.0]) == [1.0, 3.5, 2.0, 3.5]
    assert signals.rank_correlation([1, 2, 3, 4], [10, 20, 40, 30]) == pytest.approx(0.8)
    assert signals.rank_correlation([1, 2, 3], [5, 5, 5]) is None


def test_likeness_counts_repeated_words() -> None:
    assert signals.likeness("a b b c", "A B d") == pytest.approx(2 / 5)
    assert signals.likeness("", "") == 1.0
