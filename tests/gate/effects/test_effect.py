"""An effect carries its standard error and its interval, and refuses what was not measured."""

from __future__ import annotations

import math

import pytest
from scipy import special

from gate.effects import student
from gate.effects.effect import Effect


@pytest.mark.parametrize("freedom", range(1, 29))
def test_the_table_of_quantiles_is_students(freedom: int) -> None:
    assert student.quantile_975(freedom) == pytest.approx(special.stdtrit(freedom, 0.975), abs=1e-9)


def test_from_thirty_steps_the_noise_counts_as_known() -> None:
    assert student.quantile_975(29) == student.NORMAL_975 == pytest.approx(1.959964, abs=1e-6)


def test_without_a_degree_of_freedom_the_noise_is_unknown() -> None:
    with pytest.raises(ValueError, match="measure over more steps"):
        student.quantile_975(0)


@pytest.mark.parametrize(
    ("difference", "se", "low", "high"),
    [
        (-0.12, 0.03, -0.1788, -0.0612),
        (0.12, 0.03, 0.0612, 0.1788),
        (0.01, 0.015, -0.0194, 0.0394),
        (-0.03, 0.01, -0.0496, -0.0104),
        (-0.04, 0.06, -0.1576, 0.0776),
        (-0.246, 0.1163, -0.474, -0.018),
        (0.177, 0.1163, -0.051, 0.405),
    ],
)
def test_the_interval_reaches_1_96_standard_errors(
    difference: float, se: float, low: float, high: float
) -> None:
    effect = Effect.of(difference, se, steps=30)
    digits = 4 if se < 0.1 else 3
    assert (round(effect.low, digits), round(effect.high, digits)) == (low, high)


def test_few_degrees_of_freedom_widen_it() -> None:
    assert Effect.of(0.0, 1.0, steps=10, freedom=9).high == pytest.approx(2.262157, abs=1e-6)


def test_it_tells_what_it_could_have_found() -> None:
    assert Effect.of(-0.04, 0.06, steps=80).detectable == pytest.approx(0.168, abs=5e-4)


def test_it_is_one_line_to_read() -> None:
    effect = Effect.of(0.12, 0.03, steps=30)
    assert str(effect) == "+0.120 (95% interval +0.061 to +0.179)"


def test_lying_within_a_margin_takes_the_whole_interval() -> None:
    effect = Effect.of(-0.03, 0.01, steps=30)
    assert effect.lies_within(0.05)
    assert not effect.lies_within(0.04)
    assert not Effect.of(0.03, 0.01, steps=30).lies_within(0.04)


@pytest.mark.parametrize(("difference", "se"), [(math.nan, 0.1), (0.1, math.inf), (0.1, -0.1)])
def test_what_is_no_number_is_no_measurement(difference: float, se: float) -> None:
    with pytest.raises(ValueError, match="leave out the steps without a number"):
        Effect.of(difference, se, steps=5)
