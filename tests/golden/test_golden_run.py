"""A run recorded once can be read for ever, and nothing is written that is not declared."""

from __future__ import annotations

import ast
import io
import json
from dataclasses import MISSING, fields
from pathlib import Path

import pytest
from rich.console import Console

from gate.contract import files, knobs, ledger, records
from gate.contract.ledger import EntryKind, RevisionKind
from gate.contract.paths import RunPaths
from tests.project import tree
from trainer import checkpoint, run_folder, runlog, show

RUN = RunPaths(Path(__file__).parent / "run-v1")
FILES = {
    "steps.jsonl": [RUN.steps],
    "events.jsonl": [RUN.events],
    "episodes/NNNNNN.jsonl": sorted(RUN.episodes.glob("*.jsonl")),
    "status.json": [RUN.status],
}


def test_every_kind_of_record_is_in_the_recorded_run() -> None:
    assert FILES.keys() == records.RECORDS.keys()
    assert sum(path.stat().st_size for path in RUN.root.rglob("*") if path.is_file()) < 200_000


@pytest.mark.parametrize("name", records.RECORDS)
def test_every_record_is_still_read_into_its_type(name: str) -> None:
    kind = records.RECORDS[name]
    declared = {entry.name for entry in fields(kind)}
    needed = {
        entry.name for entry in fields(kind) if entry.default is entry.default_factory is MISSING
    }
    for path in FILES[name]:
        lines = files.read_lines(path)
        assert lines.records and (lines.torn, lines.mended) == (0, 0)
        for record in lines.records:
            assert needed <= set(record) <= declared, "a field went, or is new without a default"
            assert records.to_json(kind(**record)) | record == records.to_json(kind(**record))


def test_the_counts_of_every_step_add_up() -> None:
    for record in files.read_lines(RUN.steps).records:
        parts = record["finished"] + record["quarantined"] + record["dropped"]
        assert record["started"] == parts == sum(record["stop_reasons"].values())
        episodes = files.read_lines(RUN.episodes_of(record["step"])).records
        assert len(episodes) == record["started"]


def test_the_ledger_still_hangs_together_and_gives_the_knobs_of_every_step() -> None:
    assert ledger.verify(RUN.ledger).ok
    values = knobs.from_values(ledger.launch_values(RUN.ledger), worlds=("travel",))
    assert [one.kind for one in ledger.revisions(RUN.ledger)] == [
        RevisionKind.LAUNCH,
        RevisionKind.DIRECT_EDIT,
    ]
    assert EntryKind.REFUSED in {entry.kind for entry in ledger.entries(RUN.ledger)}
    steps = files.read_lines(RUN.steps).records
    assert [record["revision"] for record in steps] == [0, 1, 1]
    before = ledger.fold(RUN.ledger, values, upto=0)
    after = ledger.fold(RUN.ledger, values)
    assert (before.get("user.max_reveals"), after.get("user.max_reveals")) == (2, 3)


def test_the_log_goes_on_from_it() -> None:
    log = runlog.RunLog(RUN, now=lambda: 0.0)
    assert log.last_step == 3
    assert [record["step"] for record in runlog.steps_after(RUN.steps, 1).records] == [2, 3]


def test_its_launch_and_its_checkpoint_can_be_read() -> None:
    record = run_folder.read_launch(RUN)
    assert (record.name, record.total_steps) == ("golden", 3)
    state = json.loads((RUN.checkpoint(3) / "state.json").read_bytes())
    assert checkpoint.snapshot_from_json(state).step == 3
    reason = checkpoint.problem(RUN.checkpoint(3))
    assert reason is not None and "is missing" in reason, "weights are left out of it"


def test_its_episodes_can_be_shown() -> None:
    found = show.episodes(RUN, limit=100)
    assert len(found) == 12
    stream = io.StringIO()
    show.show(Console(file=stream, width=200), found)
    for record in found:
        assert record["id"] in stream.getvalue()


def test_every_event_that_the_code_writes_is_declared() -> None:
    written: set[str] = set()
    for source in tree.sources("trainer"):
        # Other modules have another noun of that name.
        tells = "trainer.telling" in source.text or source.path.name == "telling.py"
        told = {"Told": 0} if tells else {}
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            position = {"event": 1, "log.event": 0, "run.log.event": 0, **told}.get(name)
            if position is not None and len(node.args) > position:
                kind = node.args[position]
                if isinstance(kind, ast.Constant):
                    written.add(str(kind.value))
    assert {"run_started", "run_resumed", "checkpoint", "knob_adopted"} <= written
    assert written <= records.EVENT_KINDS.keys()


def test_every_event_that_is_declared_is_known_to_code_that_writes() -> None:
    known: set[str] = set()
    for source in tree.sources("trainer"):
        if source.path.parent.name != "looking":
            constants = (node for node in ast.walk(source.tree) if isinstance(node, ast.Constant))
            known |= {str(node.value) for node in constants if isinstance(node.value, str)}
    assert records.EVENT_KINDS.keys() - known == set()


@pytest.mark.parametrize("kind", records.RECORDS.values(), ids=lambda kind: kind.__name__)
def test_every_field_says_what_it_means(kind: type) -> None:
    for entry in fields(kind):
        sentence = entry.metadata["sentence"]
        assert sentence[0].isupper() or sentence.split(",")[0].islower(), entry.name
        assert sentence.endswith("."), entry.name
