"""The lag of a change is where the mean of what it did became another."""

from __future__ import annotations

from gate.effects import lag

WIGGLE = [0.01, -0.01] * 15


def test_a_change_that_took_twelve_steps_to_show() -> None:
    values = [noise + (0.2 if step >= 12 else 0.0) for step, noise in enumerate(WIGGLE)]
    assert lag.change_point(values, long_run_sd=0.05) == 12


def test_one_mean_that_will_do_is_left_as_it_is() -> None:
    assert lag.change_point(WIGGLE, long_run_sd=0.05) is None


def test_too_short_a_series_shows_no_change() -> None:
    assert lag.change_point([0.0] * 4 + [1.0] * 5, long_run_sd=0.05) is None
    assert lag.change_point([], long_run_sd=0.05) is None
    assert lag.change_point([0.0] * 5 + [1.0] * 5, long_run_sd=0.05) == 5
