"""Runs on disk that the skill reads, and a checkout of its own for a supervisor."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from gate.contract.paths import RunPaths
from skill.supervisor import enclosure
from skill.supervisor.enclosure import Kind, Plan
from tests import live_run, proposed
from tests.skill import recorded, station
from tests.skill.station import Station


@pytest.fixture(scope="session")
def big_run(tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    """A run of 10,000 steps and 640,000 episodes; the episode files share their bytes."""
    root = tmp_path_factory.mktemp("runs") / "big"
    batch = [recorded.episode(index, step=1) for index in range(64)]
    paths = recorded.write(root, episodes=batch, status={"step": recorded.BIG_STEPS})
    for number in range(2, recorded.BIG_STEPS + 1):
        os.link(paths.episodes_of(1), paths.episodes_of(number))
    line = json.dumps(recorded.step(1))
    assert '"step": 1,' in line
    with paths.steps.open("w") as steps, paths.events.open("w") as events:
        for number in range(1, recorded.BIG_STEPS + 1):
            steps.write(line.replace('"step": 1,', f'"step": {number},') + "\n")
            event = {"kind": "quarantined", "step": number, "detail": {"why": "x" * 200}}
            events.write((json.dumps(event) + "\n") * 4)
    return paths


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    station.build(folder)
    return folder


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Station:
    shutil.copytree(built, tmp_path / "s", symlinks=True)
    root = tmp_path / "s" / "checkout"
    made = Station(root, RunPaths(root / "runs" / "a"))
    live_run.launch(root / "runs" / "b")
    proposed.record_launch(RunPaths(root / "runs" / "b"))
    status = json.loads(made.run.status.read_bytes())
    made.run.status.write_text(json.dumps({**status, "pid": os.getpid(), "heartbeat": time.time()}))
    return made


@pytest.fixture
def held(place: Station) -> Station:
    kind, reasons = enclosure.best(Plan(closed=(place.root,)), cwd=place.root)
    if kind is Kind.NONE:
        pytest.skip(f"no kernel fence on this machine: {'; '.join(reasons)}")
    return place
