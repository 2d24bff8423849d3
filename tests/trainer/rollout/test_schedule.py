"""The schedule: every task has its turn before any comes again, whatever the mix and the step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from gate.contract.sides import Side
from trainer.rollout.schedule import Assignment, TaskCursor, deal
from trainer.task import Task

TASKS = {
    world: tuple(Task(f"{world}-{index}", world, "g", "o") for index in range(count))
    for world, count in {"travel": 10, "intention": 6}.items()
}


def play(
    steps: int,
    *,
    num: int = 4,
    group: int = 1,
    mix: dict[str, float] | None = None,
    seed: int = 5,
    cursor: TaskCursor | None = None,
    first: int = 1,
    sides: Sequence[Side] = (),
    mixes: Mapping[Side, Mapping[str, float]] | None = None,
) -> tuple[list[Assignment], TaskCursor]:
    dealt: list[Assignment] = []
    cursor = cursor or TaskCursor()
    for step in range(first, first + steps):
        batch, cursor = deal(
            TASKS,
            cursor,
            step=step,
            group_size=group,
            sides=sides or [Side.IN_FORCE] * (num // group),
            mixes={Side.IN_FORCE: mix or {"travel": 1.0}, **(mixes or {})},
            seed=seed,
        )
        dealt += batch
    return dealt, cursor


def test_no_task_repeats_within_an_epoch_and_the_next_has_another_order() -> None:
    dealt, cursor = play(5)
    ids = [one.task.id for one in dealt]
    assert sorted(ids[:10]) == sorted(ids[10:]) == sorted(task.id for task in TASKS["travel"])
    assert ids[:10] != ids[10:]
    assert cursor == TaskCursor({"travel": 20})


def test_a_cursor_is_all_that_is_needed_to_go_on() -> None:
    whole, end = play(6, mix={"travel": 2.0, "intention": 1.0})
    first, cursor = play(2, mix={"travel": 2.0, "intention": 1.0})
    rest, last = play(4, mix={"travel": 2.0, "intention": 1.0}, cursor=cursor, first=3)
    assert first + rest == whole
    assert last == end


def test_rollouts_of_a_group_share_the_task_and_nothing_else() -> None:
    dealt, cursor = play(1, num=8, group=4)
    assert [one.group_id for one in dealt] == ["000001-g00"] * 4 + ["000001-g01"] * 4
    assert [one.rollout_index for one in dealt] == [0, 1, 2, 3] * 2
    assert len({one.task.id for one in dealt}) == 2
    assert len({one.seed for one in dealt}) == 8
    assert cursor == TaskCursor({"travel": 2})


def test_ids_are_unique_and_in_order() -> None:
    dealt, _ = play(3)
    ids = [one.episode_id for one in dealt]
    assert ids[:5] == ["000001-00", "000001-01", "000001-02", "000001-03", "000002-00"]
    assert len(set(ids)) == len(ids)
    assert len({one.seed for one in dealt}) == len(dealt)


def test_the_mix_is_kept_in_the_long_run_and_need_not_add_up() -> None:
    dealt, _ = play(250, mix={"travel": 6.0, "intention": 2.0})
    share = Counter(one.task.world for one in dealt)["travel"] / len(dealt)
    assert share == pytest.approx(0.75, abs=0.05)


def test_a_world_without_a_share_is_never_drawn() -> None:
    dealt, _ = play(50, mix={"travel": 0.0, "intention": 0.5})
    assert {one.task.world for one in dealt} == {"intention"}


def test_another_mix_leaves_each_worlds_order_alone() -> None:
    both, _ = play(10, mix={"travel": 1.0, "intention": 1.0})
    alone, _ = play(10, mix={"travel": 1.0})
    travel = [one.task.id for one in both if one.task.world == "travel"]
    assert travel == [one.task.id for one in alone][: len(travel)]


def test_another_seed_deals_another_order() -> None:
    assert play(2)[0] == play(2)[0]
    ids = [[one.task.id for one in play(3, seed=seed)[0]] for seed in (1, 2)]
    assert ids[0] != ids[1]


def test_anchors_change_no_task_and_no_seed() -> None:
    plain, end = play(3, mix={"travel": 2.0, "intention": 1.0})
    sides = (Side.IN_FORCE, Side.ANCHOR, Side.IN_FORCE, Side.ANCHOR)
    split, cursor = play(
        3,
        mix={"travel": 2.0, "intention": 1.0},
        sides=sides,
        mixes={Side.ANCHOR: {"travel": 2.0, "intention": 1.0}},
    )
    assert [(one.task, one.seed, one.group_id) for one in split] == [
        (one.task, one.seed, one.group_id) for one in plain
    ]
    assert cursor == end
    assert [one.side for one in split] == [*sides] * 3


def test_an_anchor_of_another_mix_plays_its_world_and_leaves_the_others_alone() -> None:
    plain, end = play(5, mix={"travel": 1.0})
    sides = (Side.IN_FORCE, Side.ANCHOR, Side.IN_FORCE, Side.IN_FORCE)
    split, cursor = play(
        5, mix={"travel": 1.0}, sides=sides, mixes={Side.ANCHOR: {"intention": 1.0}}
    )
    anchors = [one for one in split if one.side is Side.ANCHOR]
    assert {one.task.world for one in anchors} == {"intention"}
    others = [one.task.id for one in split if one.side is not Side.ANCHOR]
    assert others == [one.task.id for index, one in enumerate(plain) if index % 4 != 1]
    assert cursor == end


def test_each_side_of_a_test_of_the_mix_draws_by_its_own() -> None:
    sides = (Side.OLD, Side.NEW, Side.OLD, Side.NEW)
    dealt, _ = play(
        20,
        mix={"travel": 1.0},
        sides=sides,
        mixes={Side.OLD: {"intention": 1.0}, Side.NEW: {"travel": 1.0}},
    )
    assert {(one.side, one.task.world) for one in dealt} == {
        (Side.OLD, "intention"),
        (Side.NEW, "travel"),
    }


def test_a_group_is_never_split() -> None:
    dealt, _ = play(
        4,
        num=8,
        group=4,
        sides=(Side.OLD, Side.NEW),
        mixes={side: {"travel": 1.0} for side in (Side.OLD, Side.NEW)},
    )
    for group in {one.group_id for one in dealt}:
        played = [one for one in dealt if one.group_id == group]
        assert len({one.side for one in played}) == 1
        assert len(played) == 4
