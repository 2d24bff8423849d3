"""Lines through a series are the least-squares ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gate.effects import trend

BEFORE = [0.40, 0.42, 0.41, 0.43, 0.42, 0.44]
AFTER = [0.34, 0.35, 0.35, 0.36]


def test_an_interrupted_series_shows_level_and_slope_and_how_both_change() -> None:
    found = trend.interrupted(BEFORE + AFTER, len(BEFORE))
    assert found.level == pytest.approx(0.404286, abs=1e-6)
    assert found.slope == pytest.approx(0.006286, abs=1e-6)
    assert found.level_change == pytest.approx(-0.101, abs=1e-6)
    assert found.slope_change == pytest.approx(-0.000286, abs=1e-6)


def test_a_line_is_that_of_least_squares() -> None:
    values = [0.3, 0.1, 0.4, 0.1, 0.5, 0.9, 0.2]
    slope, level = np.polyfit(np.arange(7), values, 1)
    fitted = trend.line(values)
    assert (fitted.slope, fitted.level) == pytest.approx((slope, level))
    expected = math.sqrt(np.sum((values - slope * np.arange(7) - level) ** 2) / 5)
    assert fitted.sd == pytest.approx(expected)


def test_two_steps_show_no_noise() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        trend.line([0.1, 0.2])


def test_a_slope_is_measured_in_its_own_standard_errors() -> None:
    values = [0.0, 0.2, 0.1, 0.3, 0.2]
    fitted = trend.line(values)
    assert trend.slope_t(values) == pytest.approx(fitted.slope / (fitted.sd / math.sqrt(10)))
    assert trend.slope_t(values, inflation=2.0) == pytest.approx(trend.slope_t(values) / 2)


def test_a_slope_without_noise_is_certain_and_a_flat_line_has_none() -> None:
    assert trend.slope_t([0.0, 1.0, 2.0, 3.0]) == math.inf
    assert trend.slope_t([3.0, 2.0, 1.0, 0.0]) == -math.inf
    assert trend.slope_t([0.5, 0.5, 0.5]) == 0.0
