"""Seven words, in a fixed order of priority, with the published cases judged as they should be."""

from __future__ import annotations

import itertools

import pytest

from gate.effects import estimate
from gate.effects.designs import Declaration, Design
from gate.effects.effect import Effect
from gate.effects.layouts import Layout
from gate.effects.tripwires import Tripwire
from gate.effects.verdicts import Evidence, Verdict, decide

DECLARED = Declaration(Design.BEFORE_AFTER, opened=101, window=30, lag=20)
TABLE = [
    # difference, se, elapsed, proximal z, evidence of harm, verdict
    (-0.12, 0.03, 50, 0.0, 1.0, Verdict.HARM),
    (0.12, 0.03, 50, 0.0, 1.0, Verdict.HELP),
    (0.01, 0.015, 50, 0.0, 1.0, Verdict.NULL),
    (-0.03, 0.01, 50, 0.0, 1.0, Verdict.NULL),
    (-0.04, 0.06, 10, 4.0, 0.6, Verdict.LAGGING),
    (-0.04, 0.06, 10, 0.5, 0.6, Verdict.PENDING),
    (-0.04, 0.06, 100, 0.5, 0.6, Verdict.INCONCLUSIVE),
]


def evidence(difference: float, se: float, elapsed: int, **more: float) -> Evidence:
    return Evidence(elapsed, Effect.of(difference, se, steps=30), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("difference", "se", "elapsed", "z", "harm", "verdict"), TABLE)
def test_the_table_of_verdicts(
    difference: float, se: float, elapsed: int, z: float, harm: float, verdict: Verdict
) -> None:
    found = decide(DECLARED, evidence(difference, se, elapsed, proximal_z=z, harm=harm))
    assert found.verdict is verdict


def test_harm_need_not_wait_for_the_window() -> None:
    found = decide(DECLARED, Evidence(elapsed=5, harm=22.8))
    assert found.verdict is Verdict.HARM
    assert "22.8 after 5 steps" in found.because
    assert decide(DECLARED, Evidence(elapsed=5, harm=19.9)).verdict is Verdict.PENDING


def test_the_published_drop_becomes_a_harm_once_its_reversal_counts() -> None:
    drop, back = Effect.of(-0.246, 0.1163, steps=10), Effect.of(0.177, 0.1163, steps=10)
    declared = Declaration(Design.REVERSAL, opened=1, window=30, layout=Layout(10, 20))
    alone = decide(declared, Evidence(60, Effect.of(-0.177, 0.1163, steps=10)))
    assert alone.verdict is Verdict.INCONCLUSIVE
    found = decide(declared, Evidence(30, estimate.pooled(drop, back)))
    assert found.verdict is Verdict.HARM


def test_a_tripwire_comes_before_everything_and_says_nothing_about_the_cause() -> None:
    found = decide(
        DECLARED,
        Evidence(50, Effect.of(0.12, 0.03, steps=30), harm=99.0, tripped=(Tripwire.DEADLOCK,)),
    )
    assert found.verdict is Verdict.SAFETY_ROLLBACK
    assert "deadlock" in found.because
    assert not found.verdict.is_causal


def test_only_a_comparison_over_time_makes_a_help_provisional() -> None:
    helped = evidence(0.12, 0.03, 50)
    assert decide(DECLARED, helped).provisional
    for design, layout in [
        (Design.CONCURRENT_ARMS, None),
        (Design.FORKED_TWINS, None),
        (Design.REVERSAL, Layout(10, 20)),
    ]:
        declared = Declaration(design, opened=1, window=30, layout=layout)
        found = decide(declared, helped)
        assert (found.verdict, found.provisional) == (Verdict.HELP, False)


def test_a_rising_success_or_a_moving_metric_is_waited_for_until_the_horizon() -> None:
    for more in ({"proximal_z": 3.0}, {"slope_t": 2.0}):
        assert decide(DECLARED, evidence(0.04, 0.06, 50, **more)).verdict is Verdict.LAGGING
        assert decide(DECLARED, evidence(0.04, 0.06, 99, **more)).verdict is Verdict.LAGGING
        assert decide(DECLARED, evidence(0.04, 0.06, 100, **more)).verdict is Verdict.INCONCLUSIVE
    assert decide(DECLARED, evidence(0.04, 0.06, 50)).verdict is Verdict.INCONCLUSIVE


def test_a_metric_that_moved_the_wrong_way_is_acting_but_promises_nothing() -> None:
    assert decide(DECLARED, evidence(0.0, 0.06, 10, proximal_z=-4.0)).verdict is Verdict.LAGGING
    late = decide(DECLARED, evidence(0.0, 0.06, 50, proximal_z=-4.0))
    assert late.verdict is Verdict.INCONCLUSIVE


def test_a_knob_that_does_not_move_its_own_metric_points_at_the_plumbing() -> None:
    assert decide(DECLARED, Evidence(elapsed=20)).check_plumbing
    assert not decide(DECLARED, Evidence(elapsed=19)).check_plumbing
    assert not decide(DECLARED, Evidence(elapsed=20, proximal_z=3.0)).check_plumbing


def test_a_significant_effect_below_the_margin_is_neither_harm_nor_help() -> None:
    for sign in (1, -1):
        found = decide(DECLARED, evidence(sign * 0.04, 0.015, 50))
        assert found.verdict is Verdict.INCONCLUSIVE


def test_a_test_that_measured_nothing_is_inconclusive() -> None:
    found = decide(DECLARED, Evidence(elapsed=50))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "no step could be measured" in found.because


def test_only_two_verdicts_roll_back_and_three_may_be_told_as_causes() -> None:
    assert {v for v in Verdict if v.rolls_back} == {Verdict.SAFETY_ROLLBACK, Verdict.HARM}
    assert {v for v in Verdict if v.is_causal} == {Verdict.HARM, Verdict.HELP, Verdict.NULL}


def test_a_judgement_tells_what_could_have_been_found_and_the_noise_floor() -> None:
    found = decide(DECLARED, evidence(-0.04, 0.06, 100, noise_floor=0.06))
    assert str(found) == (
        "inconclusive: neither an effect nor its absence is shown: -0.040 (95% interval -0.158 to "
        "+0.078); found 4 times in 5: 0.168; noise floor: 0.060"
    )
    assert str(decide(DECLARED, evidence(0.12, 0.03, 50))).startswith("help (provisional): ")
    assert str(decide(DECLARED, Evidence(elapsed=1))) == "pending: 1 of 50 steps have passed"


def test_every_evidence_has_exactly_one_verdict_and_a_reason() -> None:
    for difference, se, elapsed, z, slope, harm in itertools.product(
        (-0.2, -0.03, 0.0, 0.2), (0.001, 0.05), (0, 49, 50, 99, 100), (-5, 0, 5), (0, 3), (1, 30)
    ):
        found = decide(
            DECLARED, evidence(difference, se, elapsed, proximal_z=z, slope_t=slope, harm=harm)
        )
        assert isinstance(found.verdict, Verdict)
        assert found.because
