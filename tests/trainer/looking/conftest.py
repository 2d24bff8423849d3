"""One recorded run for all tests of looking; whoever writes in it makes one of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gate.contract.paths import RunPaths
from tests.trainer.looking import mended_run
from trainer.looking.reading import Reader, Reading


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    """A run with a planted fault, its mending, a test and a verdict; only to be read."""
    return mended_run.make(tmp_path_factory.mktemp("looking") / "runs" / "mended")


@pytest.fixture
def reading(recorded: RunPaths) -> Reading:
    """That run, read."""
    return Reader(recorded).read()


@pytest.fixture
def own(recorded: RunPaths, tmp_path: Path) -> RunPaths:
    """A copy of that run to write in."""
    shutil.copytree(recorded.root, tmp_path / "runs" / "mended")
    return RunPaths(tmp_path / "runs" / "mended")
