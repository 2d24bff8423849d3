"""A verdict is a pure function of the declaration and the records, also where little is on file."""

from __future__ import annotations

from dataclasses import replace

from gate.contract.experiments import Experiment
from gate.contract.sides import Side
from gate.effects.series import Point, Share
from gate.effects.tripwires import Vitals
from gate.guard import judging

OVER_TIME = Experiment(
    number=1,
    proposal=1,
    revision=1,
    old_revision=0,
    opened=31,
    judged=True,
    design="before_after",
    window=10,
    lag=5,
    baseline=30,
    noise_sd=0.05,
)
ARMS = replace(OVER_TIME, design="concurrent_arms", lag=0)


def point(
    step: int, arms: dict[str, float], sides: dict[Side, dict[str, float]] | None = None
) -> Point:
    def shares(played: dict[str, float]) -> dict[str, Share]:
        return {arm: Share(success, 64) for arm, success in played.items()}

    split = {side: shares(played) for side, played in (sides or {}).items()}
    return Point(step, 0 if step < 31 else 1, shares(arms), split, None, Vitals(step), {})


def wobbling(step: int) -> float:
    return 0.5 + 0.05 * (-1) ** step


def test_users_that_never_met_are_not_compared() -> None:
    points = [point(step, {"symbolic" if step < 31 else "llm": 0.5}) for step in range(1, 61)]
    judgement = judging.judge(OVER_TIME, points, last_step=60)
    assert judgement.verdict == "inconclusive"
    assert "no step could be measured" in judgement.because


def test_a_baseline_that_is_gone_leaves_nothing_to_say() -> None:
    points = [point(step, {"symbolic": 0.1}) for step in range(25, 61)]
    judgement = judging.judge(OVER_TIME, points, last_step=60)
    assert (judgement.verdict, judgement.evidence.effect) == ("inconclusive", None)


def test_sides_that_were_hardly_played_are_no_measurement() -> None:
    split = {Side.OLD: {"symbolic": 0.5}, Side.NEW: {"symbolic": 0.6}}
    points = [point(31, {"symbolic": 0.6}, split)]
    judgement = judging.judge(ARMS, points, last_step=60)
    assert (judgement.verdict, judgement.evidence.effect) == ("inconclusive", None)


def test_a_test_without_a_noise_is_not_judged_for_harm() -> None:
    split = {Side.OLD: {"symbolic": 0.9}, Side.NEW: {"symbolic": 0.1}}
    points = [point(step, {"symbolic": 0.1}, split) for step in range(31, 36)]
    quiet = judging.judge(replace(ARMS, noise_sd=None), points, last_step=35)
    assert quiet.verdict == "pending"
    assert judging.judge(ARMS, points, last_step=35).verdict == "harm"


def test_another_test_that_splits_the_batch_is_left_out() -> None:
    before = [point(step, {"symbolic": wobbling(step)}) for step in range(1, 31)]
    split = [
        point(
            step,
            {"symbolic": 0.1},
            {Side.OLD: {"symbolic": wobbling(step)}, Side.NEW: {"symbolic": 0.1}},
        )
        for step in range(31, 61)
    ]
    effect = judging.effect_of(OVER_TIME, [*before, *split], elapsed=15)
    assert effect is not None
    assert abs(effect.difference) < 0.02


def test_who_asks_later_gets_the_same_answer() -> None:
    points = [
        point(step, {"symbolic": wobbling(step) + (0.2 if step > 30 else 0)})
        for step in range(1, 100)
    ]
    first = judging.judge(OVER_TIME, points, last_step=45)
    assert first.verdict == "inconclusive"
    assert "no anchors were played" in first.because
    assert judging.judge(OVER_TIME, points, last_step=99) == first


def test_a_reversal_of_which_a_phase_is_lost_is_no_measurement() -> None:
    reversal = replace(OVER_TIME, design="reversal", lag=0, window=23, layout=(8, 15))
    points = [point(step, {"symbolic": wobbling(step)}) for step in range(1, 40)]
    judgement = judging.judge(reversal, points, last_step=53)
    assert (judgement.verdict, judgement.evidence.effect) == ("inconclusive", None)
    assert judging.effect_of(replace(reversal, layout=(6, 8), window=23), points, elapsed=9) is None
