"""Reads tau2_mock tasks, our own or the mock domain of tau2-bench, into `Task` values."""

from __future__ import annotations

from pathlib import Path

from trainer.task import Task
from trainer.worlds.tau2 import loading
from trainer.worlds.tau2.loading import Layout

FOLDER = Path(__file__).parent
LAYOUT = Layout(world="tau2_mock", domain="mock", folder=FOLDER)


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split; see `trainer.worlds.tau2.loading.load`."""
    return loading.load(LAYOUT, split, source)
