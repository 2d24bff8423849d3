"""A schedule is a factor on the live rate and a function of the count of updates alone."""

from __future__ import annotations

import pytest

from trainer.ppo.schedules import SCHEDULES, check_schedule, lr_factor


def series(name: str, count: int = 8, *, warmup: int = 2, decay: int = 6) -> list[float]:
    return [lr_factor(name, update, warmup=warmup, decay=decay) for update in range(count)]


def test_the_warm_up_climbs_to_one_under_every_schedule():
    for name in SCHEDULES:
        assert series(name)[:3] == [0.5, 1.0, 1.0]


def test_each_schedule_by_hand():
    assert series("constant")[2:] == [1.0] * 6
    assert series("linear")[2:] == pytest.approx([1.0, 0.75, 0.5, 0.25, 0.0, 0.0])
    assert series("cosine")[2:] == pytest.approx([1.0, 0.853553, 0.5, 0.146447, 0.0, 0.0], abs=1e-6)


def test_without_warm_up_the_first_update_has_the_full_rate():
    assert lr_factor("cosine", 0, warmup=0, decay=10) == 1.0


def test_an_unknown_schedule_is_refused_with_those_that_exist():
    with pytest.raises(ValueError, match="'step'; it must be one of constant, linear, cosine"):
        check_schedule("step", warmup=0, decay=0)


def test_a_falling_schedule_needs_room_to_fall():
    with pytest.raises(ValueError, match="lr_decay_steps = 0 updates"):
        check_schedule("cosine", warmup=0, decay=0)
    check_schedule("constant", warmup=5, decay=0)
    check_schedule("linear", warmup=5, decay=6)
