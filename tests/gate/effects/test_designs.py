"""What a test compares, and when it is judged, is fixed before it opens."""

from __future__ import annotations

import dataclasses

import pytest

from gate.contract.knobs import Scope
from gate.effects.designs import Declaration, Design, design_for
from gate.effects.layouts import Layout


@pytest.mark.parametrize("scope", [Scope.ROLLOUT, Scope.WORLD])
def test_what_acts_in_episodes_is_compared_within_each_batch(scope: Scope) -> None:
    assert design_for(scope) is Design.CONCURRENT_ARMS
    assert design_for(scope, splittable=False) is Design.REVERSAL


def test_what_acts_through_learning_needs_time_or_twins() -> None:
    assert design_for(Scope.LEARNER) is Design.BEFORE_AFTER
    assert design_for(Scope.LEARNER, can_fork=True) is Design.FORKED_TWINS


def test_only_before_and_after_is_fooled_by_a_trend() -> None:
    assert [design for design in Design if not design.is_free_of_trend] == [Design.BEFORE_AFTER]


def test_a_test_is_judged_when_its_window_is_full_and_at_the_horizon() -> None:
    declared = Declaration(Design.BEFORE_AFTER, opened=101, window=30, lag=20)
    assert declared.looks == (50, 100)
    assert declared.steps_before == range(71, 101)
    assert declared.steps_under(50) == range(121, 151)
    assert len(declared.steps_under(100)) == 80


def test_a_young_run_has_a_shorter_baseline() -> None:
    declared = Declaration(Design.BEFORE_AFTER, opened=10, window=30)
    assert declared.steps_before == range(1, 10)


def test_a_declaration_cannot_be_changed() -> None:
    declared = Declaration(Design.CONCURRENT_ARMS, opened=1, window=13)
    with pytest.raises(dataclasses.FrozenInstanceError):
        declared.window = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"window": 4}, "window of 4 steps shows nothing; use 5"),
        ({"lag": -1}, "lag -1 must be 0 or more"),
        ({"margin": 0.0}, "margin 0.0 above 0"),
        ({"design": Design.REVERSAL}, "draw it before the test opens"),
        ({"layout": Layout(6, 12)}, "a reversal, and nothing else, has a layout"),
        ({"washout": 6}, "a washout of 6 leaves nothing of a phase of 6"),
        ({"washout": -1}, "a washout of -1"),
    ],
)
def test_a_test_that_could_not_be_evaluated_is_refused(
    wrong: dict[str, object], message: str
) -> None:
    good = {"design": Design.CONCURRENT_ARMS, "opened": 1, "window": 20}
    with pytest.raises(ValueError, match=message):
        Declaration(**(good | wrong))  # type: ignore[arg-type]
