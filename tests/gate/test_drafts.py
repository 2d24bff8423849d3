"""A proposal can be checked before it is submitted, and nothing comes of asking."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gate import cli
from gate.contract import proposals
from gate.contract.paths import RunPaths
from gate.guard.guard import Guard
from tests import live_run, proposed


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    made = live_run.launch(tmp_path / "run")
    proposed.log_steps(made, 5)
    proposed.record_launch(made)
    return made


def check(run: RunPaths, content: bytes) -> tuple[int, dict]:
    told = CliRunner().invoke(
        cli.app, ["check", str(run.root), "--draft", "-", "--json"], input=content
    )
    return told.exit_code, json.loads(told.stdout)


def test_a_draft_is_judged_as_if_it_were_submitted_and_stays_unsubmitted(run: RunPaths) -> None:
    before = run.ledger.read_bytes()
    status, found = check(run, proposed.content())
    assert (status, found["passed"]) == (0, True)
    assert [change["path"] for change in found["changes"]] == ["user.max_reveals"]
    assert proposals.names(run) == [] and run.ledger.read_bytes() == before


def test_a_bad_draft_is_refused_with_its_place(run: RunPaths) -> None:
    status, found = check(run, proposed.content(changes={"user.max_revels": 3}))
    assert (status, found["passed"]) == (1, False)
    assert [finding["rule"] for finding in found["findings"]] == ["proposal.knob"]
    status, found = check(run, b"why: half")
    assert (status, found["findings"][0]["rule"]) == (1, "proposal.unfinished")


def test_a_trainer_passes_a_draft_over_until_a_person_applies_it(run: RunPaths) -> None:
    number = proposals.submit(run, proposed.content(), draft=True)
    assert (number, proposals.next_number(run)) == (1, 2)
    guard = Guard.open(run, worlds=live_run.WORLDS)
    status = guard.reconcile(6, success_history=[0.5] * 5, now=1.0)
    assert (status.revision, status.proposals, status.waiting) == (0, (), ())
    told = CliRunner().invoke(cli.app, ["apply", str(run.root), "1", "--json"])
    assert (told.exit_code, json.loads(told.stdout)["revision"]) == (0, 1)
    assert sorted(proposals.names(run)) == ["0001.report.json", "0001.yaml"]
    status = guard.reconcile(6, success_history=[0.5] * 5, now=2.0)
    assert [outcome.revision for outcome in status.proposals] == [1]


def test_a_draft_that_is_refused_stays_a_draft(run: RunPaths) -> None:
    proposals.submit(run, proposed.content(changes={"environment.max_steps": 5}), draft=True)
    told = CliRunner().invoke(cli.app, ["apply", str(run.root), "1", "--json"])
    assert told.exit_code == 1
    assert proposals.names(run) == ["0001.draft.yaml"]
    told = CliRunner().invoke(cli.app, ["check", str(run.root), "--proposal", "1"])
    assert told.exit_code == 1
