"""Planted on whole step records: success that was bought gets no help and unlocks nothing.

The policy is the same throughout; only what is measured was made kinder.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from gate.contract.knobs import specs
from gate.effects import anchors, estimate, noise, series, verdicts
from gate.effects.anchors import Ease
from gate.effects.designs import Declaration, Design
from gate.effects.series import Point
from gate.effects.verdicts import Evidence, Judgement, Verdict
from gate.rules import difficulty
from tests.gate.changes import change_set

OPENED, WINDOW, TRUE_SUCCESS = 31, 20, 0.5
DECLARED = Declaration(Design.CONCURRENT_ARMS, opened=OPENED, window=WINDOW)


def rate(rng: random.Random, chance: float, episodes: int) -> float:
    return sum(rng.random() < chance for _ in range(episodes)) / episodes


def records(*, told: float, pinned: float) -> Iterator[dict[str, Any]]:
    """Yield fifty steps; from the opening on, half of each batch is under the change.

    Args:
        told: Success of those episodes by the verifier in force.
        pinned: Their success by the pinned one.
    """
    rng = random.Random(11)
    for step in range(1, OPENED + WINDOW):
        old, true, flattered = (rate(rng, chance, 32) for chance in (TRUE_SUCCESS, pinned, told))
        sides = {
            "old": {"symbolic": {"success": old, "episodes": 32}},
            "new": {"symbolic": {"success": true, "episodes": 32}},
        }
        yield {
            "step": step,
            "revision": 0 if step < OPENED else 1,
            "success_by_arm": {"symbolic": flattered if step >= OPENED else old},
            "pinned_success_by_arm": {"symbolic": true if step >= OPENED else old},
            "episodes_by_arm": {"symbolic": 64},
            "sides": sides if step >= OPENED else None,
            "anchor_success": rate(rng, TRUE_SUCCESS, 6),
            "anchor_episodes": 6,
            "learner": {},
            "metrics": {},
        }


def judge(points: tuple[Point, ...], ease: Ease, elapsed: int = WINDOW) -> Judgement:
    """Judge the records as the guard would at the end of the window."""
    effect = estimate.arms(series.numbers(series.differences(points)))
    own = verdicts.decide(DECLARED, Evidence(elapsed, effect))
    before, after = (
        series.numbers(series.anchor_success(series.within(points, steps)))
        for steps in (DECLARED.steps_before, DECLARED.steps_under(WINDOW))
    )
    shown = estimate.before_after(before, after, noise.of_baseline(before))
    return anchors.bounded(own, DECLARED, ease=ease, anchors=shown)


def test_a_laxer_verifier_has_no_effect_that_the_pinned_one_sees() -> None:
    points = series.points(records(told=0.9, pinned=TRUE_SUCCESS))
    told = [record["success_by_arm"]["symbolic"] for record in records(told=0.9, pinned=0.5)]
    assert min(told[OPENED:]) > 0.7
    found = judge(points, Ease.UNKNOWN)
    assert found.verdict in (Verdict.NULL, Verdict.INCONCLUSIVE)
    assert found.evidence.effect is not None
    assert found.evidence.effect.low < 0 < found.evidence.effect.high


@pytest.mark.parametrize(("elapsed", "verdict"), [(20, Verdict.LAGGING), (40, Verdict.NULL)])
def test_a_chattier_user_is_no_help(elapsed: int, verdict: Verdict) -> None:
    chatty = specs()["user.facts_per_reply"]
    assert anchors.ease_of(chatty, 1, 3) is Ease.EASIER
    points = series.points(records(told=0.9, pinned=0.9))
    found = judge(points, anchors.ease_of(chatty, 1, 3), elapsed)
    assert found.verdict is verdict
    assert found.evidence.effect is not None
    assert found.evidence.effect.low > 0.2
    assert "makes its own episodes easier" in found.because


def test_bought_success_does_not_make_tasks_harder() -> None:
    points = series.points(records(told=0.95, pinned=0.95))
    told = [point.arms["symbolic"].success for point in points]
    shown = anchors.mastery([p.anchors and p.anchors.success for p in points])
    harder = {"environment.max_steps": 17}
    assert list(difficulty.check(change_set(harder, success_history=told))) == []
    (refusal,) = difficulty.check(change_set(harder, success_history=shown))
    assert "it must reach 0.80" in refusal.message


def test_a_real_improvement_under_harder_tasks_is_a_help() -> None:
    points = series.points(records(told=0.75, pinned=0.75))
    assert judge(points, Ease.HARDER).verdict is Verdict.HELP
