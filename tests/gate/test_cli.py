"""The gate's commands say what would happen, what did, and change one knob without losing any."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gate import cli
from gate.contract import files, knobs, ledger, protected
from gate.contract.findings import Severity
from gate.contract.ledger import Author, EntryKind, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import Guard, inspection, repository
from tests import live_run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunPaths:
    monkeypatch.chdir(tmp_path)
    run = live_run.launch(tmp_path / "runs" / "first")
    (tmp_path / "runs" / "latest").symlink_to("first")
    return run


def gate(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, arguments)


def answer(*arguments: str) -> Any:
    return json.loads(gate(*arguments, "--json").stdout)


def state(run: RunPaths) -> dict[str, bytes]:
    """Return every file of a run but those of its lock."""
    paths = [path for path in run.root.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in paths if not path.name.startswith(".lock")}


def take_up(run: RunPaths, step: int) -> None:
    Guard.open(run, worlds=live_run.WORLDS).reconcile(step, success_history=(), now=float(step))


@pytest.mark.parametrize("command", [[], ["check"], ["log"], ["set"]])
def test_help_teaches_by_example(command: Sequence[str]) -> None:
    found = gate(*command, "--help")
    assert found.exit_code == 0
    expected = f"gate {command[0]} latest" if command else "1 refused, 2 misuse"
    assert expected in " ".join(found.stdout.split())


def test_a_run_without_edits_passes(run: RunPaths) -> None:
    found = gate("check", "latest")
    assert (found.exit_code, found.stdout) == (0, f"{run.root}: passed\n")


def test_a_check_tells_what_the_next_step_would_take_up_and_writes_nothing(run: RunPaths) -> None:
    live_run.save(run, "agent.actor_lr", 1e-4)
    before = state(run)
    found = answer("check", "first")
    assert (found["passed"], found["revision"]) == (True, 0)
    assert found["changes"] == [{"path": "agent.actor_lr", "old": 1e-6, "new": 1e-4}]
    assert [finding["severity"] for finding in found["findings"]] == ["warning"]
    assert "agent.actor_lr: 1e-06 -> 0.0001" in gate("check", "first").stdout
    assert state(run) == before


def test_a_check_uses_the_evidence_of_the_step_records(run: RunPaths) -> None:
    live_run.save(run, "environment.max_steps", 17)
    live_run.log_success(run, 0.8, steps=10)
    live_run.log_success(run, None, steps=3)
    live_run.log_success(run, 0.8, steps=9)
    found = gate("check", "latest")
    assert found.exit_code == 1
    assert "anchors were played in 19 of 20 steps" in found.stdout
    live_run.log_success(run, 0.8, steps=1)
    assert gate("check", "latest").exit_code == 0


def test_a_refusal_names_file_line_and_next_step(run: RunPaths) -> None:
    live_run.save(run, "user.match_threshold", 7)
    found = gate("check", str(run.root))
    assert found.exit_code == 1
    assert "error: knobs/user.yaml:" in found.stdout
    assert found.stdout.endswith("refused\n")


def test_a_damaged_ledger_is_refused(run: RunPaths) -> None:
    run.ledger.write_bytes(run.ledger.read_bytes().replace(b'"seq":0', b'"seq":1'))
    found = answer("check", "latest")
    assert [finding["rule"] for finding in found["findings"]] == ["gate.ledger"]


def test_a_directory_of_knob_files_is_checked_by_itself(tmp_path: Path, run: RunPaths) -> None:
    assert gate("check", str(run.knobs)).exit_code == 0
    run.knobs.rename(tmp_path / "knobs")
    assert gate("check").exit_code == 0
    (tmp_path / "knobs" / "user.yaml").unlink()
    found = gate("check")
    assert found.exit_code == 1
    assert "user.yaml" in found.stdout


def test_a_pipe_in_the_place_of_a_knob_file_is_refused_and_a_link_is_followed(
    run: RunPaths, tmp_path: Path
) -> None:
    agent = run.knob_file("agent")
    agent.rename(tmp_path / "mine.yaml")
    agent.symlink_to(tmp_path / "mine.yaml")
    assert gate("check", str(run.knobs)).exit_code == 0
    agent.unlink()
    os.mkfifo(agent)
    found = gate("check", str(run.knobs))
    assert found.exit_code == 1
    assert "agent.yaml cannot be read" in found.stdout


def test_the_starting_set_of_the_repository_may_name_any_world(tmp_path: Path) -> None:
    names = repository.worlds_of(protected.CHECKOUT)
    for file, content in live_run.starting_files().items():
        (tmp_path / Path(file).name).write_bytes(content)
    text = (tmp_path / "user.yaml").read_text()
    overrides = "".join(f"  {name}: {{max_reveals: 1}}\n" for name in names)
    assert "\nworlds: {}\n" in text
    if names:
        (tmp_path / "user.yaml").write_text(text.replace("worlds: {}\n", f"worlds:\n{overrides}"))
    assert gate("check", str(tmp_path)).exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "nowhere"),
        ("log", "nowhere"),
        ("set", "nowhere", "user.max_reveals", "3", "--reason", "x"),
        ("set", "first", "user.max_reveals", "3"),
        ("unknown",),
        ("log", "first", "--limit", "0"),
    ],
)
def test_a_question_asked_wrongly_is_misuse(run: RunPaths, arguments: Sequence[str]) -> None:
    assert gate(*arguments).exit_code == 2


def test_an_unknown_run_is_told_which_there_are(run: RunPaths) -> None:
    assert "known: first, latest" in gate("log", "nowhere").stderr


@pytest.mark.parametrize("what", ["--proposal", "--patch"])
def test_a_proposal_or_a_patch_without_its_run_asks_for_the_run(run: RunPaths, what: str) -> None:
    asked = gate("check", what, "1")
    assert asked.exit_code == 2
    assert "gate check latest --proposal 7" in " ".join(asked.stderr.split())


@pytest.mark.parametrize("command", ["check", "log"])
def test_a_name_that_steers_a_terminal_is_shown_and_acts_on_nothing(
    run: RunPaths, command: str
) -> None:
    told = gate(command, "\x1b]0;title\x07").stderr
    assert "\\x1b]0;title\\x07" in told
    assert "\x1b]" not in told


def test_a_step_record_without_a_usable_step_is_passed_over(run: RunPaths) -> None:
    run.steps.write_text('{"step": 7}\n{"step": "x"}\n{}\n')
    assert gate("check", "first").exit_code == 0
    assert inspection.evidence(run).step == 7


def test_brackets_by_the_thousand_are_a_refused_value(run: RunPaths) -> None:
    before = state(run)
    told = gate("set", "first", "reward.shaping", "[" * 3000, "--reason", "x")
    assert told.exit_code == 1
    assert "reward.yaml: reward.shaping is" in told.stdout
    assert state(run) == before


def test_setting_a_knob_keeps_its_files_comments_and_says_why(run: RunPaths) -> None:
    before = run.knob_file("user").read_text()
    found = gate("set", "latest", "user.max_reveals", "3", "--reason", "users repeat themselves")
    assert (found.exit_code, found.stdout) == (
        0,
        "user.max_reveals is 3 from the next step on (revision 1)\n",
    )
    after = run.knob_file("user").read_text()
    assert after == before.replace("max_reveals: 2", "max_reveals: 3")
    revision = ledger.revisions(run.ledger)[-1]
    assert (revision.kind, revision.author) == (RevisionKind.COMMAND, Author.UNATTRIBUTED)
    assert revision.reason == "users repeat themselves"


def test_one_world_a_negative_number_and_json_can_be_set(run: RunPaths) -> None:
    for path, value in (
        ("user.worlds.travel.max_reveals", "3"),
        ("reward.malformed_floor", "-0.2"),
        ("user.persona", "terse"),
        ("user.reveal_kinds", '["hotel.room"]'),
        ("agent.actor_lr", "2e-6"),
    ):
        found = gate("set", "first", path, value, "--reason", "a test")
        assert found.exit_code == 0, found.output
    current = ledger.fold(run.ledger, knobs.defaults())
    assert current.get("user.max_reveals", "travel") == 3
    assert current.get("reward.malformed_floor") == -0.2
    assert current.get("user.persona") == "terse"
    assert current.get("user.reveal_kinds") == ["hotel.room"]
    assert current.get("agent.actor_lr") == 2e-6
    assert knobs.load(run.knobs, worlds=live_run.WORLDS) == current


def test_a_value_that_is_in_force_already_is_no_revision(run: RunPaths) -> None:
    before = state(run)
    found = gate("set", "first", "user.max_reveals", "2", "--reason", "a test")
    assert (found.exit_code, "already" in found.stdout) == (0, True)
    assert answer("set", "first", "user.max_reveals", "2", "--reason", "a test") == {
        "revision": None,
        "findings": [],
    }
    assert state(run) == before


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        ("user.max_reveal", "3", "rules.declared"),
        ("environment.max_steps", "17", "rules.difficulty"),
        ("environment.max_steps", "61", "knobs.range"),
        ("user.match_threshold", "NaN", "knobs.finite"),
        ("user.worlds.mars.max_reveals", "1", "knobs.unknown-world"),
        ("user.max_reveals", "many", "knobs.type"),
    ],
)
def test_a_value_that_is_not_allowed_changes_no_byte(
    run: RunPaths, path: str, value: str, rule: str
) -> None:
    before = state(run)
    found = gate("set", "first", path, value, "--reason", "a test", "--json")
    assert found.exit_code == 1
    assert [finding["rule"] for finding in json.loads(found.stdout)["findings"]] == [rule]
    assert gate("set", "first", path, value, "--reason", "a test").exit_code == 1
    assert state(run) == before


@pytest.mark.parametrize("spoil", ["tab", "directory", "unseen edit"])
def test_a_file_that_is_not_in_a_state_to_be_edited_keeps_its_bytes(
    run: RunPaths, spoil: str
) -> None:
    file = run.knob_file("agent")
    if spoil == "tab":
        file.write_bytes(b"ppo:\n\tlr: 0.1\n" + file.read_bytes())
    elif spoil == "directory":
        file.unlink()
        file.mkdir()
    else:
        live_run.save(run, "agent.gae_lambda", 0.9)
    before = state(run)
    found = gate("set", "first", "agent.ppo_epochs", "2", "--reason", "a test")
    assert found.exit_code == 1
    assert "error: " in found.stdout
    assert state(run) == before


def test_a_large_step_is_made_and_told(run: RunPaths) -> None:
    found = gate("set", "first", "agent.actor_lr", "1e-4", "--reason", "a test")
    assert found.exit_code == 0
    assert "warning: agent.yaml: agent.actor_lr: 1e-06 -> 0.0001 is a large step" in found.stdout
    made = answer("set", "first", "agent.actor_lr", "1e-6", "--reason", "a test")
    assert (made["revision"], len(made["findings"])) == (2, 1)


def test_a_busy_run_and_a_damaged_ledger_refuse_a_setting(run: RunPaths) -> None:
    with live_run.locked_elsewhere(run) as pid:
        found = gate("set", "first", "user.max_reveals", "3", "--reason", "x", "--wait", "0")
    assert (found.exit_code, f"process {pid}" in found.stderr) == (1, True)
    run.ledger.write_bytes(run.ledger.read_bytes().replace(b'"seq":0', b'"seq":1'))
    assert gate("set", "first", "user.max_reveals", "3", "--reason", "a test").exit_code == 1


def test_the_log_shows_every_revision_and_refusal(run: RunPaths) -> None:
    live_run.save(run, "agent.gae_lambda", 0.9)
    take_up(run, 3)
    live_run.save(run, "user.match_threshold", 7)
    take_up(run, 4)
    lines = gate("log", "latest").stdout.splitlines()
    assert lines[0] == "step 0  launch  revision 0  launch by person: a test"
    assert lines[1:3] == [
        "step 3  committed  revision 1  direct_edit by unattributed",
        "    agent.gae_lambda: 0.95 -> 0.9",
    ]
    assert lines[3] == "step 4  refused  revision 1"
    assert lines[4].startswith("    knobs/user.yaml:")
    found = answer("log", "latest", "--limit", "1")
    assert [entry["kind"] for entry in found["entries"]] == [EntryKind.REFUSED]
    assert found["entries"][0]["findings"][0]["severity"] == Severity.ERROR
    assert found["chain_ok"] is True


def test_a_log_that_was_edited_says_so(run: RunPaths) -> None:
    live_run.save(run, "agent.gae_lambda", 0.9)
    take_up(run, 3)
    run.ledger.write_bytes(run.ledger.read_bytes().replace(b'"a test"', b'"a best"'))
    found = gate("log", "latest")
    assert (found.exit_code, "line 2 does not follow" in found.stderr) == (1, True)
    assert "agent.gae_lambda: 0.95 -> 0.9" in found.stdout
    files.append_line(run.ledger, {"kind": "coffee"})
    found = gate("log", "latest")
    assert (found.exit_code, "line 4" in found.stderr) == (1, True)


def test_a_check_takes_well_under_half_a_second_of_process_time(run: RunPaths) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "gate", "check", str(run.root)]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    loaded = {line.rpartition("|")[2].strip() for line in found.stderr.splitlines()}
    assert not loaded & {"torch", "transformers", "numpy", "scipy", "trainer", "skill"}
    assert found.stdout == f"{run.root}: passed\n"


def test_the_module_is_the_command(run: RunPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["gate", "check", "latest"])
    with pytest.raises(SystemExit) as ending:
        runpy.run_module("gate", run_name="__main__")
    assert ending.value.code == 0
    assert "main" in runpy.run_module("gate.__main__", run_name="imported")


def test_a_check_in_this_process_is_quick(run: RunPaths) -> None:
    live_run.save(run, "agent.actor_lr", 2e-6)
    began = time.process_time()
    assert gate("check", "latest").exit_code == 0
    assert time.process_time() - began < 0.5
