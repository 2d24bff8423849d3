"""A stopwatch adds up the seconds of each stage, also of one that fails or overlaps another."""

from __future__ import annotations

import pytest

from tests.trainer.rollout.cast import Clock
from trainer.rollout.stopwatch import Stopwatch


def test_stages_add_up_on_the_clock_that_is_passed_in() -> None:
    clock = Clock()
    watch = Stopwatch(clock)
    for seconds in (1.0, 2.0):
        with watch("sample"):
            clock.advance(seconds)()
    with pytest.raises(ValueError, match="broke"), watch("world"):
        clock.advance(4.0)()
        raise ValueError("broke")
    assert watch.seconds == {"sample": 3.0, "world": 4.0}


def test_a_stage_lasts_while_anything_is_in_it_and_counts_once() -> None:
    clock = Clock()
    watch = Stopwatch(clock)
    watch.begin("sample")
    clock.advance(1.0)()
    watch.begin("sample")
    watch.begin("user")
    clock.advance(2.0)()
    watch.end("sample")
    clock.advance(4.0)()
    watch.end("sample")
    clock.advance(8.0)()
    watch.end("user")
    assert watch.seconds == {"sample": 7.0, "user": 14.0}
