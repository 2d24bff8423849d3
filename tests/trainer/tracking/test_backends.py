"""Each tracker gets exactly a run's numbers; one whose package is missing is refused in time.

Where a package is installed, a run is followed into it for real, by the command, and read back.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gate.contract import files
from gate.contract.paths import RunPaths
from tests.trainer.looking.mended_run import FAULT, LAST
from trainer import cli
from trainer.errors import Unusable
from trainer.tracking import backends, cursor
from trainer.tracking.backends import BACKENDS
from trainer.tracking.beside import folder_of
from trainer.tracking.cursor import Cursor
from trainer.tracking.flattening import numbers
from trainer.tracking.tracker import Kind

Numbers = Mapping[tuple[int, str], float]
OTHERS = ("WANDB_", "TRACKIO_", "HF_")
"""How the variables begin by which a person would send a run away; a test has none."""


def follow(run: RunPaths, kind: Kind) -> str:
    """Follow a run that is over by the command, in a process without a person's settings."""
    if not backends.is_installed(kind):
        pytest.skip(f"{kind} is not installed: {backends.INSTALL}")
    run.status.write_text('{"phase": "finished"}')
    environment = {key: value for key, value in os.environ.items() if not key.startswith(OTHERS)}
    ended = subprocess.run(
        [sys.executable, "-m", "trainer", "track", str(run.root), "--to", kind.value],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def told(run: RunPaths) -> Numbers:
    """Return every number of a run's records by step and name."""
    found = files.read_lines(run.steps).records
    return {(one["step"], name): value for one in found for name, value in numbers(one).items()}


def in_32_bits(found: Numbers) -> Numbers:
    return {key: struct.unpack("f", struct.pack("f", value))[0] for key, value in found.items()}


def from_event_files(folder: Path) -> tuple[Numbers, Mapping[int, str]]:
    """Return what TensorBoard's own reader finds: numbers, and marks by step."""
    module = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    reader = module.EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    found: dict[tuple[int, str], float] = {}
    for name in reader.Tags()["scalars"]:
        for one in reader.Scalars(name):
            assert (one.step, name) not in found, "a step is there twice"
            found[one.step, name] = one.value
    marks = {
        one.step: one.tensor_proto.string_val[0].decode() for one in reader.Tensors("ledger/step")
    }
    return found, marks


@pytest.mark.filterwarnings("default")
def test_event_files_hold_every_number_once_though_a_follower_was_killed(run: RunPaths) -> None:
    folder = folder_of(run, Kind.TENSORBOARD)
    assert f"tensorboard --logdir {folder}" in follow(run, Kind.TENSORBOARD)
    found, marks = from_event_files(folder)
    assert found == in_32_bits(told(run)) and len(found) > LAST
    assert f"    step {FAULT}  revision 1  a planted fault" in marks[FAULT]
    # As if it had been killed after it wrote and before it noted so.
    cursor.write(folder, Cursor(LAST - 5, 0))
    follow(run, Kind.TENSORBOARD)
    assert len(list(folder.glob("events.out.tfevents.*"))) == 2
    assert from_event_files(folder)[0] == found


def test_trackio_holds_every_number_once_in_the_folder_of_the_run(run: RunPaths) -> None:
    for _ in range(2):
        assert "trackio show --project eau" in follow(run, Kind.TRACKIO)
    with sqlite3.connect(folder_of(run, Kind.TRACKIO) / "eau.db") as database:
        rows = database.execute("select step, metrics from metrics").fetchall()
    database.close()
    assert len(rows) == LAST
    found = {(step, name): value for step, row in rows for name, value in json.loads(row).items()}
    marks = {key: found.pop(key) for key in [*found] if key[1].startswith("ledger/")}
    assert found == told(run)
    assert f"step {FAULT}  revision 1" in marks[FAULT, "ledger/step"]["_value"]


def test_wandb_keeps_a_run_at_home_unless_it_is_told_otherwise(run: RunPaths) -> None:
    assert f"wandb sync {folder_of(run, Kind.WANDB)}" in follow(run, Kind.WANDB)
    (kept,) = folder_of(run, Kind.WANDB).glob("wandb/offline-run-*/*.wandb")
    content = kept.read_bytes()
    assert all(name.encode() in content for _, name in told(run))
    assert b"step %d  revision 1" % FAULT in content
    assert not (kept.parent / "files" / "requirements.txt").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["train", "demo", "--track", "trackio"],
        ["resume", "RUN", "--track", "trackio"],
        ["iterate", "demo", "--track", "trackio"],
        ["demo", "--track", "trackio"],
        ["track", "RUN", "--to", "trackio"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_refuses_a_missing_package_before_anything_is_written(
    words: list[str], run: RunPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "is_installed", lambda kind: False)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    named = [str(run.root) if word == "RUN" else word for word in words]
    outcome = CliRunner().invoke(cli.app, named)
    assert isinstance(outcome.exception, Unusable)
    assert str(outcome.exception).startswith("trackio is not installed")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_a_backend_that_says_where_to_look(kind: Kind, tmp_path: Path) -> None:
    assert str(tmp_path) in BACKENDS[kind].look(tmp_path, {})


@pytest.mark.parametrize(
    ("kind", "environment", "where"),
    [
        (Kind.WANDB, {"WANDB_MODE": "online"}, "project eau, since WANDB_MODE is online"),
        (Kind.WANDB, {"WANDB_MODE": "online", "WANDB_PROJECT": "ours"}, "project ours, since"),
        (Kind.TRACKIO, {"TRACKIO_SPACE_ID": "a/b"}, "project eau where TRACKIO_SPACE_ID leads"),
        (Kind.TRACKIO, {"TRACKIO_DIR": "/d"}, "TRACKIO_DIR=/d trackio show --project eau"),
    ],
)
def test_where_to_look_follows_the_environment(
    kind: Kind, environment: dict[str, str], where: str, tmp_path: Path
) -> None:
    assert where in BACKENDS[kind].look(tmp_path, environment)


def test_a_key_in_the_environment_is_no_wish_to_send(tmp_path: Path) -> None:
    assert "wandb sync" in BACKENDS[Kind.WANDB].look(tmp_path, {"WANDB_API_KEY": "x"})


def test_a_folder_of_that_name_is_no_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder_of_runs").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    backend = BACKENDS[Kind.WANDB]._replace(package="folder_of_runs")
    monkeypatch.setattr(backends, "BACKENDS", {Kind.WANDB: backend})
    assert importlib.util.find_spec("folder_of_runs") is not None
    assert not backends.is_installed(Kind.WANDB)


def test_a_missing_package_is_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unusable, match=r"wandb is not installed.*pip install -e '.\[track\]'"):
        backends.require(Kind.WANDB)
    backends.require(None)
