"""What a person asks for: check a proposal, apply it, take a revision back, and read the log."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gate import cli
from gate.contract import files, ledger, protected
from gate.contract.ledger import Author, EntryKind, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Guard
from tests import live_run, proposed

HARDER = {"environment.max_steps": 17}


@pytest.fixture(autouse=True)
def frozen_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody who edits the checkout meanwhile change nothing here."""
    digests = protected.digests()
    monkeypatch.setattr(protected, "digests", lambda root=None: digests)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunPaths:
    monkeypatch.chdir(tmp_path)
    run = live_run.launch(tmp_path / "runs" / "first")
    (tmp_path / "runs" / "latest").symlink_to("first")
    proposed.log_steps(run, 40)
    proposed.record_launch(run)
    return run


def gate(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, arguments)


def answer(*arguments: str) -> Any:
    return json.loads(gate(*arguments, "--json").stdout)


def rules_of(found: Any) -> list[str]:
    return [finding["rule"] for finding in found["findings"]]


def state(run: RunPaths) -> dict[str, bytes]:
    """Return every file of a run but those of its lock."""
    paths = [path for path in run.root.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in paths if not path.name.startswith(".lock")}


@pytest.mark.parametrize("command", ["apply", "revert"])
def test_help_teaches_by_example(command: str) -> None:
    found = gate(command, "--help")
    assert (found.exit_code, f"gate {command} latest" in found.stdout) == (0, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "first", "--proposal", "9"),
        ("check", "nowhere", "--proposal", "1"),
        ("apply", "first", "9"),
        ("apply", "first", "1", "--force"),
        ("apply", "first", "1", "--reason", "x"),
        ("apply", "first", "0"),
        ("revert", "first", "1"),
        ("revert", "nowhere", "1", "--reason", "x"),
    ],
)
def test_a_question_asked_wrongly_is_misuse(run: RunPaths, arguments: Sequence[str]) -> None:
    proposed.submit(run)
    before = state(run)
    assert gate(*arguments).exit_code == 2
    assert state(run) == before


def test_a_check_of_a_proposal_tells_and_writes_nothing(run: RunPaths) -> None:
    proposed.submit(run)
    proposed.submit(run, changes=HARDER)
    before = state(run)
    found = answer("check", "latest", "--proposal", "1")
    assert (found["passed"], found["revision"], found["findings"]) == (True, 0, [])
    assert found["changes"] == [{"path": "user.max_reveals", "old": 2, "new": 3}]
    refused = gate("check", "latest", "--proposal", "2")
    assert refused.exit_code == 1
    assert "error: proposals/0002.yaml:3:" in refused.stdout
    assert refused.stdout.endswith("0002.yaml: refused\n")
    assert state(run) == before
    run.proposal(3).write_bytes(b"why: half")
    assert rules_of(answer("check", "latest", "--proposal", "3")) == ["proposal.unfinished"]
    run.ledger.write_bytes(run.ledger.read_bytes().replace(b'"seq":0', b'"seq":1'))
    assert rules_of(answer("check", "latest", "--proposal", "1")) == ["gate.ledger"]


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"changes": {"user.max_reveal": 3}}, "proposal.knob"),
        ({"changes": {"user.max_reveals": 2}}, "proposal.no-change"),
        ({"changes": {"environment.max_steps": 61}}, "proposal.range"),
        ({"changes": HARDER}, "rules.difficulty"),
        ({"changes": {"agent.actor_lr": 1e-4}}, "rules.step-size"),
        ({"changes": {"reward.task_weight": 0.4}}, "rules.step-size"),
        (
            {"changes": {"reward.shaping": [{"id": "a", "event": "search_ok", "value": 1}]}},
            "rules.reward-weights",
        ),
        (
            {"changes": {"reward.shaping": [{"id": "a", "event": "malformed", "value": 0.1}]}},
            "rules.reward-bounds",
        ),
        ({"evidence": {"steps": [41]}}, "rules.evidence"),
        ({"why": "the held-out success fell"}, "rules.holdout"),
        ({"way_back": {"user.persona": "plain"}}, "rules.reversible"),
        ({"window": 0}, "proposal.range"),
        ({"why": None}, "proposal.missing"),
    ],
)
def test_planted_bad_proposals_are_refused_with_a_next_step(
    run: RunPaths, fields: dict[str, Any], rule: str
) -> None:
    proposed.submit(run, **fields)
    assert gate("check", "first", "--proposal", "1").exit_code == 1
    found = answer("check", "first", "--proposal", "1")
    assert found["findings"][0]["rule"] == rule
    assert all(finding["next_step"] for finding in found["findings"])
    before = state(run)
    assert gate("apply", "first", "1").exit_code == 1
    assert state(run) == before


def test_a_proposal_can_be_applied_to_a_run_that_stands_still(run: RunPaths) -> None:
    proposed.submit(run)
    found = gate("apply", "latest", "1")
    assert found.exit_code == 0
    assert found.stdout.splitlines() == [
        "user.max_reveals: 2 -> 3",
        "committed: revision 1, in force from the next step on",
    ]
    revision = ledger.revisions(run.ledger)[-1]
    assert (revision.kind, revision.author) == (RevisionKind.PROPOSAL, Author.META_AGENT)
    assert json.loads(run.report(1).read_bytes())["verdict"] == "accepted"
    status = Guard.open(run, worlds=live_run.WORLDS).reconcile(41, success_history=[], now=41.0)
    assert (status.revision, status.proposals) == (1, ())
    again = answer("apply", "latest", "1")
    assert (again["revision"], rules_of(again)) == (None, ["proposal.decided"])


def test_a_running_trainer_tells_what_a_command_applied(run: RunPaths) -> None:
    guard = Guard.open(run, worlds=live_run.WORLDS)
    proposed.submit(run, changes=HARDER)
    assert guard.reconcile(41, success_history=[], now=41.0).proposals[0].revision is None
    gate("apply", "first", "1", "--force", "--reason", "a bad batch")
    status = guard.reconcile(42, success_history=[], now=42.0)
    assert str(status.proposals[0]) == ("proposal 1 is in force (revision 1, forced: a bad batch)")
    assert guard.reconcile(43, success_history=[], now=43.0).proposals == ()


def test_a_person_may_overrule_difficulty_alone_and_it_is_recorded(run: RunPaths) -> None:
    proposed.submit(run, changes=HARDER)
    Guard.open(run, worlds=live_run.WORLDS).reconcile(41, success_history=[], now=41.0)
    assert gate("apply", "first", "1").exit_code == 1
    made = answer("apply", "first", "1", "--force", "--reason", "a bad batch")
    assert (made["revision"], made["findings"]) == (1, [])
    kept = ledger.revisions(run.ledger)[-1].details["forced"]
    assert kept["reason"] == "a bad batch"
    assert [finding["rule"] for finding in kept["overruled"]] == ["rules.difficulty"]
    assert json.loads(run.report(1).read_bytes())["forced"] == "a bad batch"
    told = gate("log", "first").stdout
    assert "overruled by a person: a bad batch" in told
    assert "makes tasks harder" in told
    proposed.submit(run, changes={"user.min_questions": 1}, evidence={})
    refused = answer("apply", "first", "2", "--force", "--reason", "again")
    assert "rules.evidence" in rules_of(refused)
    assert "rules.difficulty" not in rules_of(refused)


def test_nothing_is_applied_or_reverted_over_an_edit_that_nobody_saw(run: RunPaths) -> None:
    proposed.submit(run)
    live_run.save(run, "user.persona", "terse")
    before = state(run)
    assert rules_of(answer("apply", "first", "1")) == ["revision.unseen_edit"]
    assert state(run) == before
    Guard.open(run, worlds=live_run.WORLDS).reconcile(41, success_history=[], now=41.0)
    live_run.save(run, "user.persona", "plain")
    before = state(run)
    assert rules_of(answer("revert", "first", "2", "--reason", "x")) == ["revision.unseen_edit"]
    assert state(run) == before


def test_a_revert_takes_one_change_back_and_nothing_else(run: RunPaths) -> None:
    gate("set", "first", "user.max_reveals", "3", "--reason", "one")
    gate("set", "first", "user.persona", "terse", "--reason", "two")
    text = run.knob_file("user").read_text()
    found = gate("revert", "latest", "1", "--reason", "no help")
    assert found.exit_code == 0
    assert "user.max_reveals: 3 -> 2" in found.stdout
    assert run.knob_file("user").read_text() == text.replace("max_reveals: 3", "max_reveals: 2")
    revision = ledger.revisions(run.ledger)[-1]
    assert (revision.kind, revision.reason) == (RevisionKind.REVERT, "no help")
    assert revision.details == {"reverts": 1}
    assert "revert of revision 1 by unattributed: no help" in gate("log", "first").stdout


def test_a_revert_to_harder_tasks_within_a_window_is_allowed(run: RunPaths) -> None:
    proposed.submit(run, changes={"environment.max_steps": 15})
    proposed.submit(run, changes={"user.persona": "terse"}, concurrent=True)
    Guard.open(run, worlds=live_run.WORLDS).reconcile(41, success_history=[], now=41.0)
    assert answer("revert", "first", "1", "--reason", "too short")["findings"] == []
    assert json.loads(gate("check", "first", "--json").stdout)["passed"] is True


def test_a_revert_goes_where_the_proposal_said(run: RunPaths) -> None:
    proposed.submit(run, way_back={"user.max_reveals": 1})
    assert gate("apply", "first", "1").exit_code == 0
    made = answer("revert", "first", "1", "--reason", "too chatty")
    assert made["changes"] == [{"path": "user.max_reveals", "old": 3, "new": 1}]


@pytest.mark.parametrize(("number", "rule"), [(0, "revert.none"), (9, "revert.none")])
def test_there_is_nothing_to_revert(run: RunPaths, number: int, rule: str) -> None:
    found = answer("revert", "first", str(number), "--reason", "x")
    assert (found["revision"], rules_of(found)) == (None, [rule])


def test_what_was_moved_again_or_taken_back_is_not_reverted(run: RunPaths) -> None:
    gate("set", "first", "user.max_reveals", "3", "--reason", "one")
    gate("set", "first", "user.max_reveals", "4", "--reason", "two")
    found = answer("revert", "first", "1", "--reason", "x")
    assert rules_of(found) == ["revert.later"]
    assert "Take revision 2 back first" in found["findings"][0]["next_step"]
    assert answer("revert", "first", "2", "--reason", "x")["revision"] == 3
    assert "taken back by revision 3" in gate("revert", "first", "2", "--reason", "x").stdout
    assert answer("revert", "first", "1", "--reason", "x")["revision"] == 4
    assert ledger.verify(run.ledger).ok


def test_a_revert_that_breaks_another_rule_is_refused(run: RunPaths) -> None:
    shaping = '[{"id": "a", "event": "search_ok", "value": 0.9}]'
    gate("set", "first", "reward.task_weight", "1.5", "--reason", "one")
    shaping = shaping.replace("0.9", "1.0")
    assert gate("set", "first", "reward.shaping", shaping, "--reason", "two").exit_code == 0
    found = answer("revert", "first", "1", "--reason", "x")
    assert rules_of(found) == ["rules.reward-weights"]


@pytest.mark.parametrize("command", [("apply", "1"), ("revert", "1", "--reason", "x")])
def test_a_busy_run_and_a_damaged_ledger_refuse(run: RunPaths, command: Sequence[str]) -> None:
    proposed.submit(run)
    name, *rest = command
    with live_run.locked_elsewhere(run):
        found = gate(name, "first", *rest, "--wait", "0")
    assert (found.exit_code, "waited 0 s" in found.stderr) == (1, True)
    run.ledger.write_bytes(run.ledger.read_bytes().replace(b'"seq":0', b'"seq":1'))
    assert gate(name, "first", *rest).exit_code == 1


def test_the_log_shows_proposals_and_outcomes(run: RunPaths) -> None:
    proposed.submit(run, why="users repeat\n  themselves")
    proposed.submit(run, changes=HARDER)
    Guard.open(run, worlds=live_run.WORLDS).reconcile(41, success_history=[], now=41.0)
    with files.run_lock(run.root):
        body = {"revision": 1, "verdict": "help", "because": "success rose \x1b[31m[bold]"}
        ledger.append(run.ledger, EntryKind.OUTCOME, body, step=61, now=61.0)
    lines = gate("log", "latest").stdout.splitlines()
    assert lines[1] == (
        "step 41  committed  revision 1  proposal 1 by meta_agent: users repeat themselves"
    )
    assert lines[2] == "    user.max_reveals: 2 -> 3"
    assert lines[3] == "step 41  refused  proposal 2  revision 1"
    assert lines[-1] == "step 61  outcome  revision 1  help: success rose \\x1b[31m[bold]"
    kinds = [entry["kind"] for entry in answer("log", "latest")["entries"]]
    assert kinds == ["launch", "committed", "refused", "outcome"]


def test_a_check_of_a_proposal_takes_well_under_half_a_second(run: RunPaths) -> None:
    proposed.submit(run)
    began = time.process_time()
    assert gate("check", "latest", "--proposal", "1", "--no-probe").exit_code == 0
    assert time.process_time() - began < 0.5
    command = [sys.executable, "-X", "importtime", "-m", "gate", "check", str(run.root)]
    found = subprocess.run(
        [*command, "--proposal", "1", "--no-probe"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = {line.rpartition("|")[2].strip() for line in found.stderr.splitlines()}
    assert not loaded & {"torch", "transformers", "numpy", "scipy", "jsonschema", "trainer"}
