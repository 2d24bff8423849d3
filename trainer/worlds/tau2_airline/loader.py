"""Reads tau2_airline tasks, our own or the airline domain of tau2-bench, into `Task` values."""

from __future__ import annotations

from pathlib import Path

from trainer.task import Task
from trainer.worlds.tau2 import data_faults
from trainer.worlds.tau2.loading import Layout
from trainer.worlds.tau2_airline.verifier import SERVICE

FOLDER = Path(__file__).parent
LAYOUT = Layout(
    world="tau2_airline",
    domain="airline",
    folder=FOLDER,
    # The older benchmark keeps its records in three files of the same form.
    agent_db=(
        ("db.json",),
        ("db.json.gz",),
        ("flights.json", "reservations.json", "users.json"),
        ("flights.json.gz", "reservations.json.gz", "users.json"),
    ),
)


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split; see `trainer.worlds.tau2.data_faults.load`."""
    return data_faults.load(LAYOUT, split, source, SERVICE)
