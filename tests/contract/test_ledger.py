"""The ledger is append-only, shows any edit of it, and folds into the knobs in force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files, knobs, ledger, revisions
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, EntryKind, RevisionKind
from gate.contract.paths import RunPaths
from tests import live_run


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    run = live_run.launch(tmp_path / "run")
    adopt(run, KnobChange("agent.gae_lambda", 0.95, 0.9), step=3)
    adopt(run, KnobChange("user.worlds.travel.max_reveals", knobs.ABSENT, 3), step=5)
    adopt(run, KnobChange("agent.gae_lambda", 0.9, 0.97), step=8)
    return run


def adopt(run: RunPaths, change: KnobChange, *, step: int) -> None:
    revisions.commit(
        run,
        {},
        in_place={f"knobs/{change.path.partition('.')[0]}.yaml": f"{step:064d}"},
        author=Author.UNATTRIBUTED,
        reason="",
        kind=RevisionKind.DIRECT_EDIT,
        changes=[change],
        step=step,
        now=float(step),
    )


def test_folding_the_ledger_over_the_launch_gives_the_knobs_in_force(run: RunPaths) -> None:
    launch = knobs.from_values(ledger.launch_values(run.ledger), worlds=live_run.WORLDS)
    assert launch == knobs.defaults()
    lambdas = [
        ledger.fold(run.ledger, launch, upto=revision).get("agent.gae_lambda")
        for revision in range(4)
    ]
    assert lambdas == [0.95, 0.9, 0.9, 0.97]
    newest = ledger.fold(run.ledger, launch)
    assert newest.get("agent.gae_lambda") == 0.97
    assert newest.get("user.max_reveals", "travel") == 3
    assert newest.get("user.max_reveals", "intention") == 2


def test_every_revision_says_who_why_when_and_what(run: RunPaths) -> None:
    history = ledger.revisions(run.ledger)
    assert [revision.number for revision in history] == [0, 1, 2, 3]
    assert [revision.base for revision in history] == [0, 0, 1, 2]
    first, second = history[0], history[1]
    assert (first.kind, first.author, first.reason) == (
        RevisionKind.LAUNCH,
        Author.PERSON,
        "a test",
    )
    assert (second.kind, second.author) == (RevisionKind.DIRECT_EDIT, Author.UNATTRIBUTED)
    assert (second.step, second.time) == (3, 3.0)
    assert second.changes == (KnobChange("agent.gae_lambda", 0.95, 0.9),)


def test_the_digest_of_a_file_is_that_of_its_last_revision(run: RunPaths) -> None:
    history = ledger.revisions(run.ledger)
    assert ledger.file_digests(history)["knobs/agent.yaml"] == f"{8:064d}"
    assert ledger.file_digests(history, upto=1)["knobs/agent.yaml"] == f"{3:064d}"
    launched = live_run.starting_files()["knobs/reward.yaml"]
    assert ledger.file_digests(history)["knobs/reward.yaml"] == files.content_digest(launched)


def test_an_untouched_ledger_hangs_together(run: RunPaths) -> None:
    assert ledger.verify(run.ledger) == ledger.Chain(ok=True, length=7)
    assert ledger.verify(run.root / "none.jsonl") == ledger.Chain(ok=True, length=0)


def change_a_value(lines: list[bytes]) -> list[bytes]:
    return [*lines[:1], lines[1].replace(b"0.9}", b"0.8}"), *lines[2:]]


def drop_a_line(lines: list[bytes]) -> list[bytes]:
    return [*lines[:1], *lines[2:]]


def swap_two_lines(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[2], lines[1], *lines[3:]]


def make_a_line_unreadable(lines: list[bytes]) -> list[bytes]:
    return [lines[0], lines[1][:-1], *lines[2:]]


def add_a_line_of_another_hand(lines: list[bytes]) -> list[bytes]:
    record = json.loads(lines[-1])
    return [*lines, json.dumps({**record, "seq": record["seq"] + 1}).encode()]


@pytest.mark.parametrize(
    ("tamper", "first_bad_line"),
    [
        (change_a_value, 3),
        (drop_a_line, 2),
        (swap_two_lines, 2),
        (make_a_line_unreadable, 3),
        (add_a_line_of_another_hand, 8),
    ],
)
def test_any_edit_of_the_ledger_shows(run: RunPaths, tamper: Any, first_bad_line: int) -> None:
    lines = run.ledger.read_bytes().splitlines()
    run.ledger.write_bytes(b"\n".join(tamper(lines)) + b"\n")
    chain = ledger.verify(run.ledger)
    assert (chain.ok, chain.first_bad_line) == (False, first_bad_line)


def test_torn_lines_break_nothing(run: RunPaths) -> None:
    whole = run.ledger.read_bytes()
    with run.ledger.open("ab") as stream:
        stream.write(b'{"seq":7,"kind":"int')
    before = ledger.revisions(run.ledger)
    adopt(run, KnobChange("agent.gae_lambda", 0.97, 0.95), step=9)
    assert run.ledger.read_bytes().startswith(whole)
    assert ledger.verify(run.ledger) == ledger.Chain(ok=True, length=9, torn=1)
    assert ledger.revisions(run.ledger)[:-1] == before


def test_a_revision_does_not_count_before_its_committed_line(run: RunPaths) -> None:
    lines = run.ledger.read_bytes().splitlines(keepends=True)
    run.ledger.write_bytes(b"".join(lines[:-1]))
    assert [revision.number for revision in ledger.revisions(run.ledger)] == [0, 1, 2]
    pending = ledger.pending(run.ledger)
    assert pending is not None
    assert pending.revision == 3
    assert ledger.next_revision(run.ledger) == 4


def test_a_line_that_is_not_the_gates_is_named(run: RunPaths) -> None:
    files.append_line(run.ledger, {"kind": "coffee"})
    with pytest.raises(ledger.Damaged, match="ledger line 8"):
        ledger.entries(run.ledger)


def test_a_file_that_does_not_begin_with_a_launch_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with pytest.raises(ledger.Damaged, match="launch line"):
        ledger.launch_values(path)
    ledger.append(path, EntryKind.OUTCOME, {"revision": 1}, step=1, now=0.0)
    with pytest.raises(ledger.Damaged, match="launch line"):
        ledger.launch_values(path)
    entry = ledger.last_entry(path)
    assert entry is not None
    assert entry.revision == 1
    assert entry.previous == ledger.FIRST
