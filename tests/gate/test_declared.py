"""A change may name declared knobs only, for worlds only where worlds may differ."""

from __future__ import annotations

import pytest

from gate import rules
from gate.contract import knobs
from gate.contract.knobs import KnobChange
from gate.rules import declared
from gate.rules.change_set import ChangeSet
from tests.gate.changes import change_set


def change(path: str) -> ChangeSet:
    state = knobs.defaults()
    return ChangeSet(old=state, new=state, changes=[KnobChange(path, 0.1, 0.2)])


@pytest.mark.parametrize("path", ["user.max_reveal", "gate.floor", "rules.difficulty", "x"])
def test_an_undeclared_knob_is_refused(path: str) -> None:
    assert [finding.path for finding in declared.check(change(path))] == [path]


def test_an_undeclared_knob_stops_no_other_rule() -> None:
    assert [finding.rule for finding in rules.check(change("x"))] == ["rules.declared"]


def test_one_policy_has_one_learning_rate_in_every_world() -> None:
    found = list(declared.check(change("agent.worlds.travel.actor_lr")))
    assert found[0].next_step == "Change agent.actor_lr itself."


@pytest.mark.parametrize("path", ["user.max_reveals", "user.worlds.travel.max_reveals"])
def test_a_declared_knob_passes(path: str) -> None:
    assert list(declared.check(change(path))) == []


def test_an_override_that_says_what_is_in_force_anyway_moves_nothing() -> None:
    same = change_set({"user.worlds.travel.max_reveals": 2})
    assert len(same.changes) == 1
    assert same.moves == ()
    assert rules.check(same) == ()
