"""Shares deal whole groups and come back together in the order dealt, whoever played what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trainer.episode import Episode, StopReason, Voice
from trainer.rollout.collect import Rollout
from trainer.rollout.schedule import Assignment
from trainer.rollout.shares import merge, share
from trainer.task import Task
from trainer.trajectory import Trajectory

TASK = Task(id="t", world="travel", goal="go", opening="hello")


def assignments(groups: int, size: int) -> list[Assignment]:
    """Return the episodes of a step."""
    return [
        Assignment(f"e{group}-{index}", TASK, f"g{group}", index, seed=group * size + index)
        for group in range(groups)
        for index in range(size)
    ]


def played(mine: tuple[Assignment, ...], seconds: float) -> Rollout:
    """Return a rollout of some episodes; those of odd seeds came to nothing."""
    episodes = [
        Episode(
            id=one.episode_id,
            task_id=TASK.id,
            world=TASK.world,
            arm=Voice.SYMBOLIC,
            revision=0,
            seed=one.seed,
            turns=(),
            rewards=(),
            stop=StopReason.SOLVED,
            success=1.0,
        )
        for one in mine
    ]
    learnt = [
        Trajectory((1,), (True,), (0,), (0,), (0.0,), (0.0,), StopReason.SOLVED, one.episode_id,
                   "t", one.group_id, "symbolic", 0, 0)
        for one in mine
        if one.seed % 2 == 0
    ]  # fmt: skip
    return Rollout(
        episodes=tuple(episodes),
        trajectories=tuple(learnt),
        num_tokens={one.episode_id: (one.seed, 1) for one in mine},
        timings={"sample": seconds},
        unscored={one.episode_id: "no word" for one in mine if one.seed == 3},
    )


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_parts_come_back_in_the_order_dealt(size):
    dealt = assignments(groups=5, size=2)
    mine = [share(dealt, rank=rank, size=size) for rank in range(size)]
    whole = merge(dealt, [played(part, float(rank)) for rank, part in enumerate(mine)])
    alone = played(tuple(dealt), float(size - 1))
    assert whole == alone
    assert list(whole.num_tokens) == [one.episode_id for one in dealt]


def test_a_group_is_played_by_one_process():
    dealt = assignments(groups=5, size=4)
    parts = [share(dealt, rank=rank, size=2) for rank in range(2)]
    groups = [{one.group_id for one in part} for part in parts]
    assert not groups[0] & groups[1]
    assert [len(part) for part in groups] == [3, 2]


def test_with_fewer_groups_than_processes_some_play_nothing():
    dealt = assignments(groups=2, size=1)
    assert share(dealt, rank=2, size=3) == ()


def test_an_episode_that_nobody_played_is_named():
    dealt = assignments(groups=2, size=1)
    with pytest.raises(ValueError, match="e1-0"):
        merge(dealt, [played((dealt[0],), 0.0)])


def test_durations_are_those_of_the_slowest():
    dealt = assignments(groups=2, size=1)
    parts = [played((one,), seconds) for one, seconds in zip(dealt, (1.0, 3.0), strict=True)]
    parts[0] = parts[0]._replace(timings={"sample": 1.0, "user": 2.0})
    assert merge(dealt, parts).timings == {"sample": 3.0, "user": 2.0}


def test_sides_do_not_matter_to_who_plays():
    dealt = assignments(groups=3, size=1)
    other = [replace(one, seed=99) for one in dealt]
    assert [one.episode_id for one in share(dealt, rank=1, size=2)] == [
        one.episode_id for one in share(other, rank=1, size=2)
    ]
