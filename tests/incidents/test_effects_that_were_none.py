"""Three verdicts of the published run that its own noise did not allow."""

from __future__ import annotations

import statistics

import pytest

from gate.effects import power
from gate.effects.designs import Declaration, Design
from gate.effects.effect import Effect
from gate.effects.series import comparable_arms, points, success
from gate.effects.verdicts import Evidence, Verdict, decide

LEARNER_KNOB = Declaration(Design.BEFORE_AFTER, opened=31, window=30, lag=20)
BOUND_OF_TWO_BATCHES = 0.228
"""What the published noise floor says a difference of two batches must exceed."""


def test_a_lagging_entropy_change_is_held_and_not_rolled_back() -> None:
    early = Evidence(elapsed=10, effect=Effect.of(-0.04, 0.06, steps=10), proximal_z=4.0)
    judged = decide(LEARNER_KNOB, early)
    assert judged.verdict is Verdict.LAGGING
    assert not judged.verdict.rolls_back


def test_a_threshold_probe_below_the_noise_floor_must_not_open() -> None:
    step_sd = BOUND_OF_TWO_BATCHES / 1.96 / 2**0.5
    planned = power.plan(Design.BEFORE_AFTER, step_sd, 0.02, remaining=40)
    (refusal,) = planned.findings
    assert refusal.rule == power.UNDERPOWERED
    assert planned.detectable > 0.02


def test_a_probe_that_was_opened_all_the_same_is_inconclusive() -> None:
    within = Evidence(elapsed=100, effect=Effect.of(-0.04, 0.06, steps=30), proximal_z=0.5)
    judged = decide(LEARNER_KNOB, within)
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert within.effect is not None
    assert within.effect.detectable == pytest.approx(0.168, abs=5e-4)


def test_a_difference_between_arms_is_no_effect_of_epsilon() -> None:
    def record(step: int, epsilon: float) -> dict[str, object]:
        episodes = {"symbolic": round(64 * epsilon), "llm": round(64 * (1 - epsilon))}
        arms = {"symbolic": 0.645, "llm": 0.355}
        return {
            "step": step,
            "revision": int(step > 20),
            "success": sum(arms[name] * episodes[name] for name in arms) / 64,
            "success_by_arm": arms,
            "episodes_by_arm": episodes,
            "learner": {},
            "metrics": {},
        }

    records = [record(step, 0.5 if step <= 20 else 0.8) for step in range(1, 41)]
    pooled = [float(str(one["success"])) for one in records]
    assert statistics.fmean(pooled[20:]) - statistics.fmean(pooled[:20]) > 0.08
    series = points(records)
    arms = comparable_arms(series[:20], series[20:])
    before, after = (
        statistics.fmean(point.value for point in success(part, arms))
        for part in (series[:20], series[20:])
    )
    assert after - before == pytest.approx(0.0, abs=1e-12)
