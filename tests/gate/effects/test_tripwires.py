"""Tripwires see a run breaking, not one that goes on as it was, and blame what can have done it."""

from __future__ import annotations

import math

import pytest

from gate.effects import tripwires
from gate.effects.tripwires import LastRevision, Tripwire, Vitals


def steps(
    entropy: list[float], *, first: int = 1, deadlock: float | None = 0.05, **learner: float
) -> list[Vitals]:
    return [
        Vitals(first + index, {"entropy": value, "actor_grad_norm": 1.0, **learner}, deadlock)
        for index, value in enumerate(entropy)
    ]


CALM = tripwires.calm(steps([1.0] * 30))


def test_a_calm_run_trips_nothing() -> None:
    assert tripwires.tripped(steps([1.1, 0.9, 1.0], kl=0.4), CALM) == ()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_none_trips_at_once(value: float) -> None:
    assert tripwires.tripped(steps([1.0], kl=value), CALM) == (Tripwire.NOT_FINITE,)


def test_a_gradient_burst_is_ten_times_the_median() -> None:
    assert tripwires.tripped(steps([1.0], actor_grad_norm=10.0), CALM) == ()
    burst = tripwires.tripped(steps([1.0], actor_grad_norm=10.1), CALM)
    assert burst == (Tripwire.GRADIENT_BURST,)


def test_entropy_must_be_out_for_three_steps() -> None:
    assert tripwires.tripped(steps([0.4, 0.4]), CALM) == ()
    assert tripwires.tripped(steps([0.6, 0.4, 0.4]), CALM) == ()
    assert tripwires.tripped(steps([0.4, 0.4, 0.4]), CALM) == (Tripwire.ENTROPY_COLLAPSE,)
    assert tripwires.tripped(steps([2.1, 2.1, 2.1]), CALM) == (Tripwire.ENTROPY_ERUPTION,)


def test_cycles_of_entropy_that_the_baseline_had_are_no_alarm() -> None:
    cycle = [math.exp(1.2 * math.sin(step / 4)) for step in range(60)]
    before, after = steps(cycle[:30]), steps(cycle[30:], first=31)
    calm = tripwires.calm(before)
    assert max(cycle) / min(cycle) > 10
    tripped = [tripwires.tripped(after[: end + 1], calm) for end in range(len(after))]
    assert set(tripped) == {()}
    assert tripwires.tripped(steps([0.1] * 3), calm) == (Tripwire.ENTROPY_COLLAPSE,)


def test_a_policy_that_grows_surer_as_it_did_before_trips_nothing() -> None:
    surer = [0.04 * math.exp(-0.03 * step) for step in range(45)]
    calm = tripwires.calm(steps(surer[:30]))
    after = steps(surer[30:], first=31)
    assert surer[-1] < 0.5 * surer[15]
    tripped = [tripwires.tripped(after[: end + 1], calm) for end in range(len(after))]
    assert set(tripped) == {()}


def test_a_policy_that_grows_surer_four_times_as_fast_trips() -> None:
    surer = [0.04 * math.exp(-0.03 * step) for step in range(30)]
    faster = [surer[-1] * math.exp(-0.12 * step) for step in range(1, 15)]
    calm = tripwires.calm(steps(surer))
    assert tripwires.tripped(steps(faster, first=31), calm) == (Tripwire.ENTROPY_COLLAPSE,)


def test_entropy_that_halves_in_ten_steps_trips() -> None:
    falling = [0.5 ** (step / 10) for step in range(1, 14)]
    assert tripwires.tripped(steps(falling, first=31), CALM) == (Tripwire.ENTROPY_COLLAPSE,)


def test_the_distance_to_the_reference_trips_after_three_steps_over_its_cap() -> None:
    assert tripwires.tripped(steps([1.0] * 2, kl=0.6), CALM) == ()
    assert tripwires.tripped(steps([1.0] * 3, kl=0.5), CALM) == ()
    assert tripwires.tripped(steps([1.0] * 3, kl=0.51), CALM) == (Tripwire.KL_OVER_CAP,)


def test_a_policy_that_was_far_away_already_may_go_three_times_as_far() -> None:
    far = tripwires.calm(steps([1.0] * 30, kl=0.4))
    assert tripwires.tripped(steps([1.0] * 3, kl=1.2), far) == ()
    assert tripwires.tripped(steps([1.0] * 3, kl=1.21), far) == (Tripwire.KL_OVER_CAP,)


def test_stalled_users_trip_above_a_fifth_of_the_episodes() -> None:
    assert tripwires.tripped(steps([1.0], deadlock=0.20), CALM) == ()
    assert tripwires.tripped(steps([1.0], deadlock=0.21), CALM) == (Tripwire.DEADLOCK,)


def test_users_that_stalled_before_do_not_blame_the_repair() -> None:
    stalled = tripwires.calm(steps([1.0] * 30, deadlock=0.41))
    assert tripwires.tripped(steps([1.0], deadlock=0.35), stalled) == ()


def test_without_a_baseline_only_what_is_wrong_by_itself_trips() -> None:
    empty = tripwires.calm([])
    found = tripwires.tripped(steps([9.0] * 3, deadlock=None, actor_grad_norm=1e6), empty)
    assert found == ()
    assert tripwires.tripped([Vitals(1, {"kl": math.nan})], empty) == (Tripwire.NOT_FINITE,)


def test_several_wires_are_told_together() -> None:
    found = tripwires.tripped(steps([1.0], deadlock=0.9, actor_grad_norm=100.0), CALM)
    assert found == (Tripwire.GRADIENT_BURST, Tripwire.DEADLOCK)


def test_the_last_revision_is_named_if_it_can_have_done_it() -> None:
    last = LastRevision(number=7, first_step=100, lag=20)
    assert tripwires.culprit(100, last) == 7
    assert tripwires.culprit(129, last) == 7
    assert tripwires.culprit(130, last) is None
    assert tripwires.culprit(99, last) is None


def test_the_launch_is_never_named() -> None:
    assert tripwires.culprit(1, LastRevision(number=0, first_step=0, lag=0)) is None
