"""A stopwatch adds up the seconds of each stage, also of one that fails."""

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
