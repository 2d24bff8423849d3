"""Reads tau2_telecom tasks, our own or the telecom domain of tau2-bench, into `Task` values."""

from __future__ import annotations

from pathlib import Path

from trainer.task import Task
from trainer.worlds.tau2 import loading
from trainer.worlds.tau2.loading import Layout
from trainer.worlds.tau2_telecom import record_faults, verifier
from trainer.worlds.tau2_telecom.caller import caller

FOLDER = Path(__file__).parent
LAYOUT = Layout(
    world="tau2_telecom",
    domain="telecom",
    folder=FOLDER,
    policy=(("main_policy.md", "tech_support_manual.md"),),
    # The newest clones keep all tasks in a file that mirrors cut off; the small one is whole.
    tasks=("tasks.json", "tasks_small.json"),
)


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split; see `trainer.worlds.tau2.loading.load`."""
    tasks = loading.load(LAYOUT, split, source, tell=caller)
    if source is not None and tasks:
        records = [task.payload["record"] for task in tasks]
        record_faults.tell(records, verifier.bases_of(tasks[0]).agent, source)
    return tasks
