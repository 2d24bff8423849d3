"""A proposal can be checked before it is submitted, and nothing comes of asking."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gate import cli
from gate.contract import proposals
from gate.contract.paths import RunPaths
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
