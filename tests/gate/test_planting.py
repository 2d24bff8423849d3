"""A planted fault comes into force once, as a revision that says what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract import knobs, ledger
from gate.contract.ledger import Author, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Guard, plant
from tests import live_run

FAULT = {"environment.max_steps": 9}


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "first")


def planted(run: RunPaths, step: int = 4, **values: object) -> ledger.Revision | None:
    return plant(
        run,
        values or FAULT,
        reason="planted short: half the turns",
        worlds=live_run.WORLDS,
        step=step,
        now=1.0,
        timeout_s=1.0,
    )


def test_it_is_in_force_although_no_rule_would_let_it_pass(run: RunPaths) -> None:
    made = planted(run)
    assert made is not None
    assert (made.kind, made.author, made.step) == (RevisionKind.PLANTED, Author.PERSON, 4)
    guard = Guard.open(run, worlds=live_run.WORLDS)
    status = guard.reconcile(4, success_history=(), now=2.0)
    assert status.knobs.get("environment.max_steps") == 9
    assert status.refused == ()


def test_its_knob_file_says_what_is_in_force(run: RunPaths) -> None:
    planted(run)
    text = run.knob_file("environment").read_bytes()
    parsed = knobs.parse("environment", text, worlds=live_run.WORLDS)
    assert parsed.values["max_steps"] == 9


def test_a_resumed_run_does_not_plant_it_again(run: RunPaths) -> None:
    assert planted(run) is not None
    assert planted(run) is None
    assert len(ledger.revisions(run.ledger)) == 2


def test_a_value_that_is_in_force_needs_no_planting(run: RunPaths) -> None:
    now = knobs.defaults().get("environment.max_steps")
    assert planted(run, **{"environment.max_steps": now}) is None


def test_nothing_is_planted_over_an_edit_that_nobody_has_looked_at(run: RunPaths) -> None:
    path = run.knob_file("environment")
    path.write_text(path.read_text().replace("max_steps: 16", "max_steps: 15"))
    before = path.read_bytes()
    with pytest.raises(knobs.Refused, match="was not taken up"):
        planted(run)
    assert path.read_bytes() == before
    assert len(ledger.revisions(run.ledger)) == 1


def test_no_test_opens_for_apparatus(run: RunPaths) -> None:
    planted(run)
    guard = Guard.open(run, worlds=live_run.WORLDS)
    for step in range(4, 8):
        assert guard.reconcile(step, success_history=(), now=float(step)).test is None
    assert not run.experiments.exists() or not any(run.experiments.iterdir())
