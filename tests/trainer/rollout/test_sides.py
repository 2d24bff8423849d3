"""Sides are drawn by seed and step: balanced within a step, anchors by their share over all."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.contract.sides import Side
from gate.guard import Condition, KnobStatus, OpenTest
from tests.trainer.rollout import cast
from trainer.rollout import sides

SHARES = st.floats(0, 1)
GROUPS = st.integers(1, 40)


def draw(num_groups: int, step: int, *, seed: int = 1, **shares: float) -> tuple[Side, ...]:
    return sides.draw(num_groups, step=step, seed=seed, **{"anchor_share": 0.0, **shares})


def test_without_anchors_and_test_every_group_is_in_force() -> None:
    assert draw(5, 1) == (Side.IN_FORCE,) * 5


@given(num_groups=GROUPS, share=SHARES, steps=st.integers(1, 60))
def test_anchors_keep_within_one_group_of_their_share_at_every_step(
    num_groups: int, share: float, steps: int
) -> None:
    counts = [
        draw(num_groups, step, anchor_share=share).count(Side.ANCHOR)
        for step in range(1, steps + 1)
    ]
    for step, total in enumerate(itertools.accumulate(counts), start=1):
        assert abs(total - step * num_groups * share) < 1 + 1e-6
    assert max(counts) - min(counts) <= 1, "spread over the steps"


def test_a_sixteenth_of_four_groups_is_an_anchor_every_fourth_step() -> None:
    counts = [draw(4, step, anchor_share=0.0625).count(Side.ANCHOR) for step in range(1, 13)]
    assert counts == [0, 0, 0, 1] * 3
    counts = [draw(32, step, anchor_share=0.0625).count(Side.ANCHOR) for step in range(1, 4)]
    assert counts == [2, 2, 2]


def test_every_group_has_its_turn_as_an_anchor() -> None:
    chosen = Counter(draw(4, step, anchor_share=0.25).index(Side.ANCHOR) for step in range(1, 401))
    assert sorted(chosen) == [0, 1, 2, 3]
    assert min(chosen.values()) > 70


@given(num_groups=GROUPS, share=SHARES, step=st.integers(1, 1000))
def test_the_sides_of_a_test_are_as_equal_as_the_groups_allow(
    num_groups: int, share: float, step: int
) -> None:
    drawn = Counter(draw(num_groups, step, anchor_share=share, new_share=0.5))
    assert abs(drawn[Side.OLD] - drawn[Side.NEW]) <= 1
    assert drawn[Side.IN_FORCE] == 0
    assert drawn.total() == num_groups


def test_the_odd_group_goes_to_either_side_in_the_long_run() -> None:
    new = sum(draw(5, step, new_share=0.5).count(Side.NEW) for step in range(1, 1001))
    assert new / 5000 == pytest.approx(0.5, abs=0.01)
    assert {draw(1, step, new_share=0.5) for step in range(1, 20)} == {(Side.OLD,), (Side.NEW,)}


def test_another_share_of_the_new_side_is_kept() -> None:
    new = sum(draw(10, step, new_share=0.25).count(Side.NEW) for step in range(1, 201))
    assert new / 2000 == pytest.approx(0.25, abs=0.02)


def test_the_draw_is_one_of_seed_and_step_alone() -> None:
    def split(step: int, seed: int) -> tuple[Side, ...]:
        return draw(8, step, seed=seed, anchor_share=0.25, new_share=0.5)

    assert split(3, 1) == split(3, 1)
    assert len({split(step, 1) for step in range(1, 20)}) > 15
    assert split(3, 2) != split(3, 1)


def test_a_test_that_opens_leaves_the_anchors_where_they_are() -> None:
    for step in range(1, 20):
        plain = draw(8, step, anchor_share=0.2)
        split = draw(8, step, anchor_share=0.2, new_share=0.5)
        anchors = [group for group, side in enumerate(plain) if side is Side.ANCHOR]
        assert anchors == [group for group, side in enumerate(split) if side is Side.ANCHOR]


def condition(revision: int, **overrides: object) -> Condition:
    return Condition(cast.values(**overrides), revision, world_revision=revision)


def test_anchors_play_under_revision_0_and_a_test_adds_its_two_sides() -> None:
    new = condition(4, environment__max_steps=9)
    status = KnobStatus(new.knobs, revision=4, world_revision=4)
    alone = sides.conditions(status, anchor=condition(0))
    assert alone == {Side.IN_FORCE: new, Side.ANCHOR: condition(0)}
    tested = KnobStatus(
        new.knobs, revision=4, world_revision=4, test=OpenTest(1, old=condition(3), new=new)
    )
    both = sides.conditions(tested, anchor=condition(0))
    assert both == {**alone, Side.OLD: condition(3), Side.NEW: new}


def test_a_side_without_a_mix_of_its_own_has_the_recipes() -> None:
    playing = {
        Side.IN_FORCE: condition(2, environment__task_mix={"travel": 0.25}),
        Side.ANCHOR: condition(0),
    }
    found = sides.mixes(playing, {"travel": 2.0, "intention": 1.0})
    assert found[Side.IN_FORCE] == {"travel": 0.25}
    assert found[Side.ANCHOR] == {"travel": 2.0, "intention": 1.0}
