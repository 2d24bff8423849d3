"""Knob files that go bad in a run leave the last good values, and say where, until mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.contract import files, ledger
from gate.contract.ledger import EntryKind
from gate.contract.paths import RunPaths
from tests import jobs, tiny_run
from tests.nursery import Nursery

SPOILT = range(3, 7)
"""Steps during which the file is bad."""
KEYS = {"rule", "severity", "message", "next_step", "file", "line", "column", "path", "value"}


@pytest.fixture
def run(seedling: Path, tmp_path: Path) -> RunPaths:
    return jobs.copy_run(seedling, tmp_path / "run")


def play(nursery: Nursery, run: RunPaths, edits: dict[str, Any]) -> list[dict[str, Any]]:
    """Run eight steps and return what `status.json` said after each."""
    witness = run.root.parent / "witness.jsonl"
    child = nursery.run("resume", run.root, edits=edits, stop_after=8, witness=witness)
    assert child.returncode == 0, child.told()
    told = files.read_lines(witness).records
    assert [status["step"] for status in told] == list(range(1, 9))
    return list(told)


@pytest.mark.parametrize("spoiler", jobs.SPOILERS)
def test_a_file_that_goes_bad_is_told_at_every_step_until_it_is_mended(
    nursery: Nursery, run: RunPaths, spoiler: str
) -> None:
    edits = {
        "2": {"user": {"max_reveals": 3}},
        "3": {"user": spoiler},
        "7": {"user": {"max_reveals": 4}},
    }
    told = play(nursery, run, edits)
    # A file cut in half looks as if it were still being saved: it is waited for first.
    silent = 2 if spoiler == "become half" else 0
    for status in told:
        bad = status["step"] in SPOILT and status["step"] >= SPOILT[0] + silent
        assert bool(status["refused"]) == bad, status["step"]
        for finding in status["refused"]:
            assert finding.keys() >= KEYS
            assert finding["file"] == "knobs/user.yaml"
            assert finding["message"] and finding["next_step"]
    revisions = [record["revision"] for record in tiny_run.told_steps(run)]
    assert revisions == [0, 1, 1, 1, 1, 1, 2, 2]
    assert [one.changes[0].new for one in ledger.revisions(run.ledger)[1:]] == [3, 4]
    kind = "knob_vanished" if spoiler in ("vanish", "become a directory") else "knob_refused"
    events = [tiny_run.events(run, name) for name in ("knob_vanished", "knob_refused")]
    assert [len(found) for found in events] == [kind == "knob_vanished", kind == "knob_refused"]
    refusals = [one for one in ledger.entries(run.ledger) if one.kind is EntryKind.REFUSED]
    assert len(refusals) == 1


def test_a_value_out_of_range_is_told_with_place_value_and_limit(
    nursery: Nursery, run: RunPaths
) -> None:
    edits = {"3": {"agent": {"gae_lambda": 1.5}}, "7": {"agent": {"gae_lambda": 0.9}}}
    told = play(nursery, run, edits)
    jobs.save_knobs(run, "agent", {"gae_lambda": 1.5})
    lines = run.knob_file("agent").read_text("utf-8").splitlines()
    for status in told:
        if status["step"] not in SPOILT:
            assert status["refused"] == []
            continue
        (finding,) = status["refused"]
        line = next(number for number, text in enumerate(lines, 1) if text.startswith("gae_lambda"))
        assert (finding["line"], finding["column"]) == (line, len("gae_lambda: ") + 1)
        assert (finding["value"], finding["limit"]) == (1.5, 1)
        assert finding["path"] == "agent.gae_lambda"
    digests = [record["knobs_digest"] for record in tiny_run.told_steps(run)]
    assert len(set(digests[:6])) == 1 and digests[6] != digests[5]


def test_a_refused_edit_is_told_again_after_a_resume(nursery: Nursery, run: RunPaths) -> None:
    edits = {"2": {"agent": {"gae_lambda": 1.5}}}
    assert nursery.run("resume", run.root, edits=edits, stop_after=3).returncode == 0
    child = nursery.run("resume", run.root, stop_after=4)
    assert child.returncode == 0, child.told()
    assert f"refused {run.root}/knobs/agent.yaml:" in child.told()
    assert tiny_run.status(run)["refused"][0]["path"] == "agent.gae_lambda"


def test_text_of_a_knob_file_is_printed_as_text(nursery: Nursery, run: RunPaths) -> None:
    run.knob_file("user").write_text("persona: '[/bold] \\u001b[31m [red]'\n[/x]: 1\n", "utf-8")
    child = nursery.run("resume", run.root, stop_after=4)
    assert child.returncode == 0, child.told()
    assert "\x1b[31m" not in child.told()
    assert len(tiny_run.told_steps(run)) == 4


def test_a_penalty_for_leaving_the_first_policy_can_be_switched_on_and_off(
    nursery: Nursery, run: RunPaths
) -> None:
    edits = {"3": {"agent": {"kl_coeff": 0.01}}, "6": {"agent": {"kl_coeff": 0.0}}}
    play(nursery, run, edits)
    steps = tiny_run.told_steps(run)
    assert [record["revision"] for record in steps] == [0, 0, 1, 1, 1, 2, 2, 2]
    assert all(record["learner"]["kl"] > 0 for record in steps[1:])
