"""Runs on disk that the skill reads."""

from __future__ import annotations

import json
import os

import pytest

from gate.contract.paths import RunPaths
from tests.skill import recorded


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
