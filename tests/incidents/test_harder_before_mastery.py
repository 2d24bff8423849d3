"""max_steps was raised although the policy succeeded in fewer than 0.80 of its episodes."""

from __future__ import annotations

import math

import pytest

from gate.rules import difficulty
from tests.gate.changes import change_set

HARDER = {"environment.max_steps": 17}


@pytest.mark.parametrize(
    ("history", "told"),
    [
        ((0.79,) * 20, "anchors is 0.79 over 20 steps"),
        ((0.80,) * 19, "not enough data: anchors were played in 19 of 20 steps"),
        ((*(0.9,) * 19, math.nan), "a step of the last 20 has no success"),
    ],
)
def test_raising_max_steps_is_refused_with_the_measured_success(
    history: tuple[float, ...], told: str
) -> None:
    (refusal,) = difficulty.check(change_set(HARDER, success_history=history))
    assert (refusal.path, refusal.value, refusal.limit) == ("environment.max_steps", 17, 0.80)
    assert told in refusal.message


def test_at_080_it_passes() -> None:
    assert not list(difficulty.check(change_set(HARDER, success_history=(0.80,) * 20)))
