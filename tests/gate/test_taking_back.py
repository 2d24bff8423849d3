"""A proposal may take a revision back: the rules for taking back apply, and its test is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract import ledger
from gate.contract.ledger import RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Guard, plant
from tests import live_run, proposed

STEPS = 20
FAULT_AT = 16


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    """Return a run whose turn limit was lowered by a planted fault."""
    run = live_run.launch(tmp_path / "first")
    proposed.log_steps(run, STEPS)
    proposed.record_launch(run)
    plant(
        run,
        {"environment.max_steps": 11},
        reason="planted",
        worlds=live_run.WORLDS,
        step=FAULT_AT,
        now=1.0,
        timeout_s=1.0,
    )
    return run


def decided(run: RunPaths, **fields: object) -> tuple[list[str], Guard]:
    """Submit one proposal, and return the rules that stand against it."""
    proposed.submit(run, **{"changes": None, **fields})
    guard = Guard.open(run, worlds=live_run.WORLDS)
    status = guard.reconcile(STEPS + 1, success_history=(0.4,) * STEPS, now=9.0)
    return [finding.rule for one in status.proposals for finding in one.findings], guard


def test_it_puts_back_what_was_there_although_tasks_get_harder_by_it(run: RunPaths) -> None:
    found, guard = decided(run, reverts=1)
    assert found == []
    assert guard.status.knobs.get("environment.max_steps") == 16
    newest = ledger.revisions(run.ledger)[-1]
    assert newest.kind is RevisionKind.PROPOSAL
    assert newest.details["reverts"] == 1


def test_the_same_change_is_refused_when_it_is_not_called_a_way_back(run: RunPaths) -> None:
    found, guard = decided(run, changes={"environment.max_steps": 14})
    assert "rules.difficulty" in found
    assert guard.status.knobs.get("environment.max_steps") == 11


def test_it_takes_nothing_back_twice(run: RunPaths) -> None:
    decided(run, reverts=1)
    found, _ = decided(run, reverts=1)
    assert found == ["revert.none"]


def test_it_takes_back_and_changes_nothing_else(run: RunPaths) -> None:
    found, guard = decided(run, reverts=1, changes={"user.max_reveals": 3})
    assert found == ["proposal.reverts"]
    assert guard.status.revision == 1


def test_a_revision_that_is_not_there_cannot_be_taken_back(run: RunPaths) -> None:
    found, _ = decided(run, reverts=7)
    assert found == ["revert.none"]
