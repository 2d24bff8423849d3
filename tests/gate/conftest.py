"""What the tests of the gate share: commands that never start the trainer's own probe."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.guard import probing
from tests.gate import fake_probe


@pytest.fixture(autouse=True)
def probe(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a probe that finds nothing stand in for the trainer's; gives the folder it is told in."""
    folder = tmp_path_factory.mktemp("probe")
    monkeypatch.setattr(probing, "COMMAND", fake_probe.command(folder))
    return folder
