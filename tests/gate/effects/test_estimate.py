"""Each design gives a difference and how sure it is; a trend fools only before and after."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from gate.effects import estimate
from gate.effects.effect import Effect
from gate.effects.noise import Noise

NOISE = Noise(mean=0.4, sd=0.1, autocorrelation=0.0, steps=30)
RISING = [0.3 + 0.01 * step for step in range(20)]
A1, B1, A2, B2 = (RISING[start : start + 5] for start in (0, 5, 10, 15))


def test_a_trend_looks_like_an_effect_to_before_and_after_alone() -> None:
    assert estimate.before_after(A1, B1, NOISE).difference == pytest.approx(0.05)


def test_a_reversal_is_not_fooled_by_a_trend() -> None:
    assert estimate.reversal(A1, B1, A2, NOISE).difference == pytest.approx(0, abs=1e-12)


def test_alternating_is_fooled_and_mirrored_is_not() -> None:
    forth = estimate.before_after(A1, B1, NOISE)
    again = estimate.before_after(A2, B2, NOISE)
    back = estimate.before_after(A2, B2, NOISE)
    assert (forth.difference + again.difference) / 2 == pytest.approx(0.05)
    assert estimate.pooled(forth, back).difference == pytest.approx(0, abs=1e-12)


def test_a_change_and_its_reversal_count_together() -> None:
    forth = Effect.of(-0.246, 0.1163, steps=10)
    back = Effect.of(0.177, 0.1163, steps=10)
    found = estimate.pooled(forth, back)
    assert back.low < 0 < back.high
    assert found.difference == pytest.approx(-0.2115)
    assert found.se == pytest.approx(0.1007, abs=5e-5)
    assert (round(found.low, 3), round(found.high, 3)) == (-0.409, -0.014)


def test_time_comparisons_know_their_noise_from_the_baseline() -> None:
    found = estimate.before_after([0.5] * 30, [0.4] * 10, NOISE)
    assert found.se == pytest.approx(0.1 * math.sqrt(1 / 10 + 1 / 30))
    assert found.high == pytest.approx(-0.1 + 1.959964 * found.se, abs=1e-6)
    short = estimate.before_after([0.5] * 20, [0.4] * 10, Noise(0.5, 0.1, 0.0, 20))
    assert short.high == pytest.approx(-0.1 + 2.100922 * short.se, abs=1e-6)


def test_a_run_with_memory_is_less_sure() -> None:
    lasting = Noise(mean=0.4, sd=0.1, autocorrelation=0.3, steps=30)
    calm, wide = (estimate.reversal(A1, B1, A2, noise) for noise in (NOISE, lasting))
    assert calm.se == pytest.approx(0.1 * math.sqrt(1.5 / 5))
    assert wide.se == pytest.approx(calm.se * math.sqrt(1.3 / 0.7))
    reach = [(found.high - found.difference) / found.se for found in (calm, wide)]
    assert reach == pytest.approx([1.959964, 2.144787], abs=1e-6)


def test_a_memory_that_leaves_hardly_a_step_leaves_one_degree_of_freedom() -> None:
    lasting = Noise(mean=0.4, sd=0.1, autocorrelation=0.9, steps=30)
    found = estimate.before_after(A1, B1, lasting)
    assert (found.high - found.difference) / found.se == pytest.approx(12.7062, abs=1e-4)


def test_arms_need_no_baseline() -> None:
    differences = [0.1, 0.0, 0.2, 0.1, 0.1]
    found = estimate.arms(differences)
    se = statistics.stdev(differences) / math.sqrt(5)
    assert (found.difference, found.se, found.steps) == pytest.approx((0.1, se, 5))
    assert found.high == pytest.approx(0.1 + 2.776445 * se, abs=1e-6)


def test_thirty_steps_of_arms_count_as_known() -> None:
    found = estimate.arms([0.1, -0.1] * 15)
    assert found.high == pytest.approx(1.959964 * found.se, abs=1e-6)


def test_a_few_equal_differences_are_no_proof_that_there_is_no_noise() -> None:
    assert estimate.arms([0.1] * 5).se == pytest.approx(0.0, abs=1e-12)
    assert estimate.arms([0.1] * 5, least_sd=0.2).se == pytest.approx(0.2 / math.sqrt(5))
    assert estimate.twins([0.1] * 5, least_sd=0.2).se == pytest.approx(0.2 / math.sqrt(5))


def test_twins_that_drift_apart_are_less_sure_than_arms() -> None:
    apart = [0.01 * step for step in range(20)]
    assert estimate.twins(apart).difference == estimate.arms(apart).difference
    assert estimate.twins(apart).se > 2 * estimate.arms(apart).se


def test_twins_of_the_same_values_differ_by_nothing() -> None:
    found = estimate.twins([0.0] * 10)
    assert (found.difference, found.se) == (0.0, 0.0)


def test_a_metric_that_moves_as_predicted_counts_positive() -> None:
    fell = Effect.of(-0.3, 0.1, steps=10)
    assert estimate.proximal_z(fell, direction=-1) == pytest.approx(3.0)
    assert estimate.proximal_z(fell, direction=1) == pytest.approx(-3.0)


def test_a_metric_without_noise_moves_for_sure_or_not_at_all() -> None:
    assert estimate.proximal_z(Effect.of(0.0, 0.0, steps=10), direction=1) == 0.0
    assert estimate.proximal_z(Effect.of(0.1, 0.0, steps=10), direction=1) == math.inf
    assert estimate.proximal_z(Effect.of(0.1, 0.0, steps=10), direction=-1) == -math.inf


@pytest.mark.parametrize(
    ("steps", "prompt_sd", "expected"),
    [(10, 0.0, 0.58), (10, 0.25, 0.71), (20, 0.0, 0.91), (20, 0.25, 0.96)],
)
def test_playing_the_same_prompts_finds_a_tenth_more_often(
    steps: int, prompt_sd: float, expected: float
) -> None:
    """Thirty-two episodes on each side; the shared part of the noise drops out."""
    rng, runs = random.Random(7), 1500
    sd = math.sqrt(2 * (0.25 - prompt_sd**2) / 32)
    found = sum(
        estimate.arms([rng.gauss(-0.10, sd) for _ in range(steps)]).high < 0 for _ in range(runs)
    )
    assert found / runs == pytest.approx(expected, abs=0.05)
