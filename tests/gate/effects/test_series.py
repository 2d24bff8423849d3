"""Step records become series: per arm, per side, pinned where possible, every step once."""

from __future__ import annotations

import math
import statistics
from typing import Any

import pytest

from gate.contract.sides import Side
from gate.effects import series
from gate.effects.series import Share, Value


def record(step: int, arms: dict[str, tuple[float, int]], **more: Any) -> dict[str, Any]:
    return {
        "step": step,
        "revision": 0,
        "success_by_arm": {arm: success for arm, (success, _) in arms.items()},
        "episodes_by_arm": {arm: episodes for arm, (_, episodes) in arms.items()},
        "learner": {"entropy": 1.0},
        "metrics": {},
        **more,
    }


def mixed(step: int, epsilon: float) -> dict[str, Any]:
    """Sixty-four episodes of which a share plays the symbolic user."""
    symbolic = round(64 * epsilon)
    return record(step, {"symbolic": (0.645, symbolic), "llm": (0.355, 64 - symbolic)})


@pytest.mark.parametrize(("epsilon", "pooled"), [(0.5, 0.500), (0.6, 0.529), (0.4, 0.471)])
def test_another_mix_of_users_is_no_effect(epsilon: float, pooled: float) -> None:
    assert 0.645 * epsilon + 0.355 * (1 - epsilon) == pytest.approx(pooled, abs=5e-4)
    before = series.points(mixed(step, 0.5) for step in range(1, 6))
    after = series.points(mixed(step, epsilon) for step in range(6, 11))
    arms = series.comparable_arms(before, after)
    assert arms == ("llm", "symbolic")
    means = [statistics.fmean(series.numbers(series.success(s, arms))) for s in (before, after)]
    assert means == pytest.approx([0.5, 0.5])


def test_an_arm_that_has_ended_is_not_compared() -> None:
    before = series.points(mixed(step, 0.5) for step in range(1, 6))
    after = series.points(mixed(step, 0.0) for step in range(6, 11))
    assert series.comparable_arms(before, after) == ("llm",)
    assert series.numbers(series.success(after, ["llm"])) == (0.355,) * 5


def test_an_arm_that_plays_now_and_then_is_not_compared_and_its_gaps_are_left_out() -> None:
    often = [mixed(step, 0.5 if step != 3 else 0.0) for step in range(1, 6)]
    points = series.points(often)
    assert series.comparable_arms(points, points) == ("llm", "symbolic")
    assert [step for step, _ in series.success(points, ["llm", "symbolic"])] == [1, 2, 4, 5]
    rarely = series.points(mixed(step, 0.5 if step > 2 else 0.0) for step in range(1, 6))
    assert series.comparable_arms(points, rarely) == ("llm",)


def test_sides_without_a_user_in_common_cannot_be_compared() -> None:
    before = series.points(mixed(step, 1.0) for step in range(1, 6))
    after = series.points(mixed(step, 0.0) for step in range(6, 11))
    with pytest.raises(ValueError, match=r"before \(symbolic\) and after \(llm\)"):
        series.comparable_arms(before, after)
    with pytest.raises(ValueError, match=r"after \(none\)"):
        series.comparable_arms(before, ())


def test_success_by_the_pinned_verifier_comes_before_that_of_the_one_in_force() -> None:
    flattered = record(1, {"symbolic": (0.9, 32)}, pinned_success_by_arm={"symbolic": 0.4})
    (point,) = series.points([flattered])
    assert point.arms == {"symbolic": Share(0.4, 32)}


def test_where_the_pinned_verifier_had_no_word_an_edited_one_is_not_believed() -> None:
    edited = record(1, {"symbolic": (1.0, 32)}, world_revision=2, pinned_success_by_arm={})
    launched = record(2, {"symbolic": (0.5, 32)}, world_revision=0, pinned_success_by_arm={})
    first, second = series.points([edited, launched])
    assert first.arms == {}
    assert second.arms == {"symbolic": Share(0.5, 32)}


def test_a_step_that_was_recorded_twice_counts_as_last_recorded() -> None:
    points = series.points(
        [
            record(1, {"llm": (0.1, 8)}),
            record(2, {"llm": (0.2, 8)}),
            record(1, {"llm": (0.3, 8)}),
        ]
    )
    assert series.success(points, ["llm"]) == (Value(1, 0.3), Value(2, 0.2))


def test_the_sides_of_a_concurrent_test_are_compared_arm_by_arm() -> None:
    sides = {
        "old": {
            "symbolic": {"success": 0.6, "episodes": 16},
            "llm": {"success": 0.3, "episodes": 16},
        },
        "new": {
            "symbolic": {"success": 0.7, "episodes": 30},
            "llm": {"success": 0.4, "episodes": 2},
        },
    }
    lopsided = {"old": sides["old"], "new": {"symbolic": sides["new"]["symbolic"]}}
    apart = {
        "old": {"llm": sides["old"]["llm"]},
        "new": {"symbolic": sides["new"]["symbolic"]},
    }
    points = series.points(
        record(step, {}, sides=found)
        for step, found in enumerate((sides, lopsided, apart, {"new": sides["new"]}, None), start=1)
    )
    assert points[0].sides[Side.NEW]["llm"] == Share(0.4, 2)
    found = series.differences(points)
    assert [step for step, _ in found] == [1, 2]
    assert series.numbers(found) == pytest.approx((0.1, 0.1))


def test_anchors_are_read_where_they_were_played() -> None:
    points = series.points(
        [
            record(1, {}, anchor_success=0.5, anchor_episodes=4),
            record(2, {}, anchor_success=None, anchor_episodes=0),
            record(3, {}),
        ]
    )
    assert [point.anchors for point in points] == [Share(0.5, 4), None, None]
    assert series.anchor_success(points) == (Value(1, 0.5),)


def test_a_share_without_episodes_or_number_is_none() -> None:
    (point,) = series.points([record(1, {"a": (math.nan, 8), "b": (0.5, 0), "c": (0.5, 8)})])
    assert point.arms == {"c": Share(0.5, 8)}


def test_points_are_chosen_by_step_and_by_revision() -> None:
    points = series.points(record(step, {}, revision=step // 3) for step in range(1, 7))
    assert [p.step for p in series.within(points, range(2, 5))] == [2, 3, 4]
    assert [p.step for p in series.under_revision(points, 1)] == [3, 4, 5]


def test_twins_are_paired_by_step() -> None:
    new, old = [Value(1, 0.5), Value(2, 0.6), Value(4, 0.9)], [Value(1, 0.4), Value(2, 0.7)]
    found = series.paired(new, old)
    assert [step for step, _ in found] == [1, 2]
    assert series.numbers(found) == pytest.approx((0.1, -0.1))


def test_vitals_hold_the_update_and_the_worst_stall() -> None:
    metrics = {"travel.deadlock": 0.1, "colbench.deadlock": 0.3, "travel.turns": 7.0}
    stalled, silent = series.points([record(1, {}, metrics=metrics), record(2, {})])
    assert (stalled.vitals.deadlock, silent.vitals.deadlock) == (0.3, None)
    assert stalled.vitals.learner == {"entropy": 1.0}
    assert stalled.vitals.step == 1
