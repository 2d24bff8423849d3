"""The noise of a run is its own: trend taken out, memory corrected, never less than chance."""

from __future__ import annotations

import math
import random

import pytest

from gate.effects import noise
from gate.effects.noise import Noise


def test_the_long_run_sd_says_what_memory_costs() -> None:
    assert Noise(0.5, 0.0625, 0.3, 30).long_run_sd == pytest.approx(0.0625 * math.sqrt(1.3 / 0.7))
    assert Noise(0.5, 0.0625, 0.0, 30).long_run_sd == 0.0625


def test_steps_that_resemble_each_other_tell_less_about_the_noise() -> None:
    assert Noise(0.5, 0.1, 0.0, 30).effective_steps == pytest.approx(30)
    assert Noise(0.5, 0.1, 0.5, 30).effective_steps == pytest.approx(10)


def test_a_trend_is_no_noise() -> None:
    measured = noise.of_baseline([0.3 + 0.01 * step for step in range(30)])
    assert measured.sd == pytest.approx(0.0, abs=1e-12)
    assert measured.mean == pytest.approx(0.445)


def test_the_autocorrelation_is_corrected_for_a_short_series() -> None:
    residuals = [1.0, 1.0, -1.0, -1.0] * 5
    fitted = noise.of_differences(residuals)
    raw = -1 / 20 + 10 / 20 - 9 / 20 + 1 / 20
    assert raw == pytest.approx(0.05)
    assert fitted.autocorrelation == pytest.approx(raw + (1 + 4 * raw) / 20)


def test_it_lies_between_nothing_and_nine_tenths() -> None:
    assert noise.of_differences([1.0, -1.0] * 10).autocorrelation == 0.0
    assert noise.of_differences([1.0] * 15 + [-1.0] * 15).autocorrelation == 0.9


def test_independent_steps_are_measured_as_such() -> None:
    rng = random.Random(5)
    measured = noise.of_baseline([rng.gauss(0.5, 0.1) for _ in range(2000)])
    assert measured.sd == pytest.approx(0.1, rel=0.05)
    assert measured.long_run_sd == pytest.approx(0.1, rel=0.12)


def test_a_short_baseline_is_refused_with_what_is_missing() -> None:
    with pytest.raises(ValueError, match=r"19 steps without a change are too few.*there are 20"):
        noise.of_baseline([0.5] * 19)


def test_a_baseline_without_any_success_is_not_without_noise() -> None:
    least = noise.least_sd(0.0, episodes=64, steps=30)
    assert 0 < least < 0.01
    assert noise.of_baseline([0.0] * 30, least_sd=least).long_run_sd == least
    assert noise.of_differences([0.0] * 10, least_sd=least).sd == least


def test_the_binomial_floor_of_64_episodes_is_one_sixteenth() -> None:
    assert noise.binomial_sd(0.5, 64) == 0.0625


def test_a_series_calmer_than_chance_looks_duplicated() -> None:
    assert noise.looks_duplicated(Noise(0.5, 0.049, 0.0, 30), 64)
    assert not noise.looks_duplicated(Noise(0.5, 0.051, 0.0, 30), 64)


def test_half_a_batch_on_each_side_has_twice_the_noise_of_a_batch() -> None:
    assert noise.difference_sd(0.5, 32, 32) == pytest.approx(0.125)


def test_playing_the_same_prompts_on_both_sides_lowers_it() -> None:
    assert noise.difference_sd(0.5, 32, 32, prompt_sd=0.25) == pytest.approx(0.108, abs=5e-4)


def test_a_single_pair_of_batches_differs_by_228_thousandths_once_in_a_hundred() -> None:
    assert 2.576 * noise.difference_sd(0.5, 64, 64) == pytest.approx(0.2277, abs=1e-4)


def test_standard_errors_by_design() -> None:
    assert noise.se_before_after(0.1, before=10, after=10) == pytest.approx(0.1 * math.sqrt(2 / 10))
    assert noise.se_before_after(0.1, before=30, after=10) == pytest.approx(
        0.1 * math.sqrt(1 / 10 + 1 / 30)
    )
    assert noise.se_reversal(0.1, first=10, new=10, last=10) == pytest.approx(
        0.1 * math.sqrt(1.5 / 10)
    )
