"""The rules are code: nothing that a run reads can add, change or remove one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from gate import rules
from gate.contract import knobs
from gate.contract.findings import Refused, Severity
from gate.guard import Guard
from gate.rules import difficulty
from gate.rules.change_set import ChangeSet
from tests import live_run
from tests.gate.changes import change_set


def test_the_defaults_pass_every_rule() -> None:
    assert rules.check(ChangeSet(knobs.defaults())) == ()
    assert rules.check(change_set({})) == ()


def test_no_rule_can_be_replaced_while_running() -> None:
    with pytest.raises(TypeError):
        cast("Any", rules.RULES)["difficulty"] = lambda change_set: ()


@pytest.mark.parametrize(
    "line", ["gate: {enabled: false}", "rules: {difficulty: off}", "difficulty_floor: 0.1"]
)
def test_a_knob_file_that_speaks_of_rules_is_refused_and_they_still_hold(
    tmp_path: Path, line: str
) -> None:
    run = live_run.launch(tmp_path / "run")
    guard = Guard.open(run, worlds=live_run.WORLDS)
    harder = live_run.save(run, "environment.max_steps", 17)
    loosened = line.encode() + b"\n" + harder
    run.knob_file("environment").write_bytes(loosened)
    status = guard.reconcile(1, success_history=[0.1] * 20, now=1.0)
    assert [finding.rule for finding in status.refused] == ["knobs.unknown"]
    assert status.knobs.get("environment.max_steps") == 16
    run.knob_file("environment").write_bytes(harder)
    status = guard.reconcile(2, success_history=[0.1] * 20, now=2.0)
    assert [finding.rule for finding in status.refused] == ["rules.difficulty"]


@pytest.mark.parametrize("name", ["gate.yaml", "rules.yaml", "difficulty.py"])
def test_a_rule_file_in_a_runs_directories_changes_nothing(tmp_path: Path, name: str) -> None:
    run = live_run.launch(tmp_path / "run")
    for directory in (run.root, run.knobs):
        (directory / name).write_text("FLOOR = 0.0\nenabled: false\n")
    guard = Guard.open(run, worlds=live_run.WORLDS)
    live_run.save(run, "environment.max_steps", 17)
    status = guard.reconcile(1, success_history=[0.1] * 20, now=1.0)
    assert [finding.rule for finding in status.refused] == ["rules.difficulty"]
    assert difficulty.FLOOR == 0.80


@pytest.mark.parametrize(
    "new",
    [
        {"environment.max_steps": 61},
        {"environment.max_steps": 2},
        {"user.user_strategy_mix": 1.1},
        {"user.user_strategy_mix": -0.1},
        {"agent.actor_lr": float("nan")},
    ],
)
def test_values_out_of_range_do_not_even_become_knobs(new: dict[str, float]) -> None:
    with pytest.raises(Refused) as caught:
        change_set(new)
    assert all(finding.severity is Severity.ERROR for finding in caught.value.findings)
