"""A recorded run to follow, and the folder that a tracker of it has."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate.contract.paths import RunPaths
from trainer.tracking.beside import folder_of
from trainer.tracking.tracker import Kind


@pytest.fixture
def run(recorded: RunPaths, tmp_path: Path) -> RunPaths:
    """A copy of the recorded run."""
    shutil.copytree(recorded.root, tmp_path / "runs" / "mended")
    return RunPaths(tmp_path / "runs" / "mended")


@pytest.fixture
def folder(run: RunPaths) -> Path:
    """The folder of a tracker of it."""
    place = folder_of(run, Kind.TENSORBOARD)
    place.mkdir(parents=True)
    return place
