"""A test says before it opens how long it must be, and does not open if it cannot find anything."""

from __future__ import annotations

import math

import pytest

from gate.contract.findings import Severity
from gate.effects import noise, power
from gate.effects.designs import Declaration, Design
from gate.effects.layouts import Layout
from gate.effects.noise import Noise

TABLE = [
    # sd, autocorrelation, {effect: (before/after, reversal)}, found by ten steps before and after
    (0.0625, 0.0, {0.05: (25, 19), 0.10: (7, 5), 0.20: (2, 2)}, 0.078),
    (0.0625, 0.3, {0.05: (46, 35), 0.10: (12, 9), 0.20: (3, 3)}, 0.107),
    (0.08, 0.3, {0.05: (75, 56), 0.10: (19, 14), 0.20: (5, 4)}, 0.137),
    (0.12, 0.3, {0.05: (168, 126), 0.10: (42, 32), 0.20: (11, 8)}, 0.205),
    (0.12, 0.6, {0.05: (362, 272), 0.10: (91, 68), 0.20: (23, 17)}, 0.301),
]


@pytest.mark.parametrize(("sd", "autocorrelation", "windows", "detectable"), TABLE)
def test_windows_follow_from_noise_and_effect(
    sd: float, autocorrelation: float, windows: dict[float, tuple[int, int]], detectable: float
) -> None:
    long_run_sd = Noise(0.5, sd, autocorrelation, 30).long_run_sd
    for effect, expected in windows.items():
        found = (
            power.steps_before_after(long_run_sd, effect),
            power.steps_reversal(long_run_sd, effect),
        )
        assert found == expected
    se = noise.se_before_after(long_run_sd, before=10, after=10)
    assert round(power.DETECTABLE_SE * se, 3) == detectable


def test_a_long_baseline_shortens_the_window_until_it_cannot() -> None:
    long_run_sd = Noise(0.5, 0.0625, 0.3, 30).long_run_sd
    assert power.noise_ratio(long_run_sd, 0.10) == pytest.approx(5.694, abs=1e-3)
    assert power.steps_before_after(long_run_sd, 0.10, baseline=30) == 8
    assert power.noise_ratio(long_run_sd, 0.05) == pytest.approx(22.78, abs=5e-3)
    assert power.steps_before_after(long_run_sd, 0.05, baseline=30) == 95
    assert power.steps_before_after(long_run_sd, 0.05) == 46
    assert power.steps_before_after(long_run_sd, 0.05, baseline=22) is None


def test_concurrent_arms_of_32_episodes_need_13_steps_for_a_tenth() -> None:
    sd = noise.difference_sd(0.5, 32, 32)
    assert power.steps_paired(sd, 0.10) == 13
    assert power.steps_paired(sd, 0.05) == 50


def test_a_bound_of_228_thousandths_could_not_have_decided() -> None:
    se = 0.228 / 1.96
    detectable = power.DETECTABLE_SE * se
    assert detectable == pytest.approx(0.326, abs=5e-4)
    assert (detectable / 0.10) ** 2 == pytest.approx(10.6, abs=0.05)
    assert (detectable / 0.15) ** 2 == pytest.approx(4.7, abs=0.05)


def test_the_margin_is_half_of_what_can_be_found_and_at_least_five_hundredths() -> None:
    assert power.margin(0.08) == 0.05
    assert power.margin(0.326) == pytest.approx(0.163)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (Declaration(Design.BEFORE_AFTER, opened=31, window=10), math.sqrt(1 / 10 + 1 / 30)),
        (
            Declaration(Design.REVERSAL, opened=1, window=18, layout=Layout(6, 12)),
            math.sqrt(1.5 / 5),
        ),
        (Declaration(Design.CONCURRENT_ARMS, opened=1, window=16), 1 / 4),
        (Declaration(Design.FORKED_TWINS, opened=1, window=16), 1 / 4),
    ],
)
def test_a_declared_test_knows_its_standard_error(declared: Declaration, expected: float) -> None:
    assert power.standard_error(declared, 1.0) == pytest.approx(expected)


def test_a_test_that_fits_may_open() -> None:
    found = power.plan(Design.CONCURRENT_ARMS, 0.125, 0.10, remaining=20)
    assert (found.steps, found.feasible, found.findings) == (13, True, ())
    assert found.detectable == pytest.approx(2.8016 * 0.125 / math.sqrt(20), abs=1e-5)


def test_a_test_that_does_not_fit_is_underpowered_by_design() -> None:
    found = power.plan(Design.CONCURRENT_ARMS, 0.125, 0.05, remaining=20)
    assert not found.feasible
    (finding,) = found.findings
    assert (finding.rule, finding.severity) == (power.UNDERPOWERED, Severity.ERROR)
    assert (finding.value, finding.limit) == (50, 20)
    assert str(finding) == (
        "Underpowered by design: an effect of 0.050 needs 50 steps, and 20 are left. What is left "
        "can find an effect of 0.078: look for that, compare twins (`eau twins`), or give the run "
        "more steps."
    )


def test_a_baseline_too_short_for_any_window_is_told() -> None:
    found = power.plan(Design.BEFORE_AFTER, 0.1, 0.05, remaining=400, lag=20, baseline=30)
    assert (found.steps, found.feasible) == (None, False)
    assert "needs no number of steps" in found.findings[0].message
    assert found.detectable == pytest.approx(2.8016 * 0.1 * math.sqrt(1 / 30 + 1 / 380), abs=1e-5)


def test_the_lag_belongs_to_the_test() -> None:
    found = power.plan(Design.BEFORE_AFTER, 0.0625, 0.10, remaining=100, lag=20)
    assert found.steps == 27


def test_three_phases_and_their_washouts_belong_to_a_reversal() -> None:
    found = power.plan(Design.REVERSAL, 0.0625, 0.05, remaining=60)
    assert found.steps == 3 * (19 + 1)
    assert found.detectable == pytest.approx(2.8016 * 0.0625 * math.sqrt(1.5 / 19), abs=1e-5)


@pytest.mark.parametrize(
    ("design", "left"), [(Design.REVERSAL, 17), (Design.BEFORE_AFTER, 4), (Design.FORKED_TWINS, 4)]
)
def test_where_nothing_is_left_nothing_can_be_found(design: Design, left: int) -> None:
    found = power.plan(design, 0.1, 0.05, remaining=left)
    assert found.detectable == math.inf
    assert "can find no effect" in found.findings[0].next_step


def test_no_test_is_shorter_than_five_steps_of_a_phase() -> None:
    assert power.plan(Design.FORKED_TWINS, 0.01, 0.5, remaining=9).steps == 5
    assert power.plan(Design.REVERSAL, 0.01, 0.5, remaining=20).steps == 18
