"""What a test has shown before its declared moments is told, and is no verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gate.contract.experiments import Experiment
from gate.guard import interim

ARMS = Experiment(
    number=1,
    proposal=1,
    revision=1,
    old_revision=0,
    opened=31,
    judged=True,
    design="concurrent_arms",
    window=10,
    noise_sd=0.2,
)
OVER_TIME = replace(ARMS, design="before_after", lag=0, baseline=30)


def record(step: int, old: float = 0.4, new: float = 0.6) -> dict[str, Any]:
    success = (old if step < 31 else new) + 0.02 * (-1) ** step
    split = {
        side: {"symbolic": {"success": value, "episodes": 16}}
        for side, value in (("old", old), ("new", new))
    }
    return {
        "step": step,
        "success_by_arm": {"symbolic": success},
        "episodes_by_arm": {"symbolic": 32},
        "sides": split if step >= 31 else {},
    }


def test_evidence_and_difference_grow_while_the_guard_says_it_is_too_early() -> None:
    records = [record(step) for step in range(1, 50)]
    found = [interim.shown(ARMS, records, step=step) for step in (31, 33, 35)]
    first, second, third = (one for one in found if one is not None)
    assert first.effect is None and third.effect is not None
    assert third.effect.difference == pytest.approx(0.2)
    assert [one.judgement.verdict for one in (first, second, third)] == ["pending"] * 3
    helped = [one.help or 0.0 for one in (first, second, third)]
    assert helped == sorted(helped) and 1.0 < helped[0] < helped[2] < third.limit == 20.0
    assert third.harm is not None and third.harm < 1.0


def test_steps_after_the_one_that_is_asked_for_are_not_looked_at() -> None:
    short = interim.shown(ARMS, [record(step) for step in range(1, 34)], step=33)
    long = interim.shown(ARMS, [record(step, new=0.0) for step in range(34, 60)], step=33)
    both = [record(step) for step in range(1, 34)]
    both += [record(step, new=0.0) for step in range(34, 60)]
    assert interim.shown(ARMS, both, step=33) == short != long


def test_help_is_gathered_only_where_both_sides_play_at_once() -> None:
    records = [{**record(step, new=0.1), "sides": {}} for step in range(1, 40)]
    found = interim.shown(OVER_TIME, records, step=33)
    assert found is not None and found.help is None
    assert found.harm is not None and found.harm > 1.0


def test_what_is_not_judged_or_not_open_yet_shows_nothing() -> None:
    records = [record(step) for step in range(1, 50)]
    assert interim.shown(replace(ARMS, judged=False), records, step=40) is None
    assert interim.shown(ARMS, records, step=30) is None


def test_evidence_at_the_limit_is_the_verdict_itself() -> None:
    records = [record(step, old=0.9, new=0.1) for step in range(1, 60)]
    steps = range(31, 60)
    crossed = next(
        step
        for step in steps
        if (found := interim.shown(ARMS, records, step=step)) is not None
        and found.harm is not None
        and found.harm >= found.limit
    )
    before, then = (interim.shown(ARMS, records, step=step) for step in (crossed - 1, crossed))
    assert before is not None and before.judgement.verdict != "harm"
    assert then is not None and then.judgement.verdict == "harm"
