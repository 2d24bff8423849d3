"""A step's record: counts of all episodes, means of those in force, sides and anchors apart."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from gate.contract.records import StepRecord
from gate.contract.sides import Side
from gate.effects import series
from gate.effects.series import Share
from gate.guard import Condition, KnobStatus, OpenTest
from tests.trainer.rollout import cast
from trainer import summary
from trainer.episode import Episode, RewardEvent, StopReason, Voice
from trainer.rollout.collect import Rollout

CONDITIONS = {
    Side.IN_FORCE: Condition(cast.values(), 5, 4),
    Side.NEW: Condition(cast.values(), 5, 4),
    Side.OLD: Condition(cast.values(), 3, 2),
    Side.ANCHOR: Condition(cast.values(), 0, 0),
}


def episode(
    side: Side,
    success: float | None,
    pinned: float | None,
    *,
    arm: Voice = Voice.SYMBOLIC,
    stop: StopReason = StopReason.SOLVED,
) -> Episode:
    """An episode that was paid for its success."""
    return Episode(
        id="",
        task_id="t",
        world="travel",
        arm=arm,
        turns=(),
        rewards=() if success is None else (RewardEvent("task", success, 0),),
        stop=stop,
        revision=CONDITIONS[side].revision,
        seed=0,
        success=success,
        side=side,
        pinned_success=pinned,
    )


def rollout(*episodes: Episode) -> Rollout:
    named = tuple(replace(one, id=f"e{index}") for index, one in enumerate(episodes))
    return Rollout(named, (), {one.id: (10, 2) for one in named}, {})


BROKEN = StopReason.WORLD_DIED
TESTED = rollout(
    episode(Side.NEW, 1.0, 0.5),
    episode(Side.NEW, 1.0, 0.0, arm=Voice.NOISY),
    episode(Side.NEW, 0.5, None, arm=Voice.NOISY),
    episode(Side.NEW, None, None, stop=BROKEN),
    episode(Side.OLD, 0.0, 0.0),
    episode(Side.OLD, 1.0, 0.75),
    episode(Side.OLD, None, None, stop=BROKEN),
    episode(Side.OLD, None, None, stop=BROKEN),
    episode(Side.ANCHOR, 0.25, 0.25),
    episode(Side.ANCHOR, 0.75, 0.75, arm=Voice.NOISY),
)
"""Three new, two old and two anchors finished."""


def record(played: Rollout, *, tested: bool) -> StepRecord:
    new = CONDITIONS[Side.NEW]
    test = OpenTest(2, old=CONDITIONS[Side.OLD], new=new) if tested else None
    return summary.step_record(
        9,
        KnobStatus(new.knobs, new.revision, world_revision=new.world_revision, test=test),
        played,
        None,
        conditions=CONDITIONS,
        policy_version=8,
        params_digest="",
        step_s=1.0,
        now=2.0,
    )


def test_counts_are_of_all_and_means_of_those_in_force() -> None:
    told = record(TESTED, tested=True)
    assert (told.started, told.finished, told.quarantined) == (10, 7, 3)
    assert told.stop_reasons == {"solved": 7, "world_died": 3}
    assert (told.action_tokens, told.total_tokens) == (20, 100)
    assert told.success == pytest.approx(2.5 / 3)
    assert told.success_by_arm == {"noisy": 0.75, "symbolic": 1.0}
    assert told.episodes_by_arm == {"noisy": 2, "symbolic": 1}
    assert told.episodes_by_world == {"travel": 3}
    assert told.reward == told.task_reward == pytest.approx(2.5 / 3)


def test_pinned_means_leave_out_what_has_no_verdict() -> None:
    told = record(TESTED, tested=True)
    assert told.pinned_success == 0.25
    assert told.pinned_success_by_arm == {"noisy": 0.0, "symbolic": 0.5}
    unscored = record(rollout(episode(Side.IN_FORCE, 1.0, None)), tested=False)
    assert (unscored.success, unscored.pinned_success) == (1.0, None)
    assert (unscored.success_by_arm, unscored.pinned_success_by_arm) == ({"symbolic": 1.0}, {})


def test_sides_are_told_by_arm_as_revision_0_judges_them() -> None:
    told = record(TESTED, tested=True)
    assert told.sides == {
        "old": {"symbolic": {"success": 0.375, "episodes": 2}},
        "new": {
            "noisy": {"success": 0.0, "episodes": 1},
            "symbolic": {"success": 0.5, "episodes": 1},
        },
    }
    assert (told.test, told.old_revision, told.new_share) == (2, 3, 0.5)
    assert (told.revision, told.world_revision) == (5, 4)


def test_anchors_are_told_apart() -> None:
    told = record(TESTED, tested=True)
    assert (told.anchor_success, told.anchor_episodes) == (0.5, 2)
    none = record(rollout(episode(Side.IN_FORCE, 1.0, 1.0)), tested=False)
    assert (none.anchor_success, none.anchor_episodes) == (None, 0)


def test_what_broke_is_told_by_side_and_revision() -> None:
    assert record(TESTED, tested=True).by_side == {
        "anchor": {"revision": 0, "world_revision": 0, "started": 2, "quarantined": 0},
        "new": {"revision": 5, "world_revision": 4, "started": 4, "quarantined": 1},
        "old": {"revision": 3, "world_revision": 2, "started": 4, "quarantined": 2},
    }


def test_without_a_test_there_are_no_sides() -> None:
    told = record(
        rollout(episode(Side.IN_FORCE, 1.0, 0.5), episode(Side.ANCHOR, 0.0, 0.0)), tested=False
    )
    assert (told.success, told.pinned_success, told.anchor_success) == (1.0, 0.5, 0.0)
    assert told.sides == {}
    assert (told.test, told.old_revision, told.new_share) == (None, None, None)
    assert set(told.by_side) == {"in_force", "anchor"}


def test_a_step_of_anchors_alone_says_nothing_of_the_values_in_force() -> None:
    told = record(rollout(episode(Side.ANCHOR, 1.0, 1.0)), tested=False)
    assert (told.success, told.reward, told.pinned_success) == (None, None, None)
    assert (told.finished, told.episodes_by_arm, told.anchor_success) == (1, {}, 1.0)


def test_the_gate_reads_arms_sides_and_anchors_out_of_a_record() -> None:
    told = record(TESTED, tested=True)
    (point,) = series.points([{one.name: getattr(told, one.name) for one in fields(told)}])
    assert point.arms == {"noisy": Share(0.0, 2), "symbolic": Share(0.5, 1)}
    assert point.sides[Side.OLD] == {"symbolic": Share(0.375, 2)}
    assert point.anchors == Share(0.5, 2)
    (gap,) = series.differences([point])
    assert gap.value == 0.125, "of the one arm that played on both sides"
