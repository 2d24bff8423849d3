"""One recorded run for all tests of looking and tracking; to write in it, copy it."""

from __future__ import annotations

import pytest

from gate.contract.paths import RunPaths
from tests.trainer.looking import mended_run


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    """A run with a planted fault, its mending, a test and a verdict; only to be read."""
    return mended_run.make(tmp_path_factory.mktemp("recorded") / "runs" / "mended")
