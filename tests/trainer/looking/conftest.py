"""The recorded run as it is read; whoever writes in it makes one of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate.contract.paths import RunPaths
from trainer.looking.reading import Reader, Reading


@pytest.fixture
def reading(recorded: RunPaths) -> Reading:
    """That run, read."""
    return Reader(recorded).read()


@pytest.fixture
def own(recorded: RunPaths, tmp_path: Path) -> RunPaths:
    """A copy of that run to write in."""
    shutil.copytree(recorded.root, tmp_path / "runs" / "mended")
    return RunPaths(tmp_path / "runs" / "mended")
