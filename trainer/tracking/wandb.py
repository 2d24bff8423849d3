"""Weights & Biases: a run kept offline under the run's own folder, unless `WANDB_MODE` says online.

A key in the environment is no wish to send: only `WANDB_MODE` is. Nothing of the machine, the
program or its output goes along, whatever the mode: only numbers, marks and what tells runs apart.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from trainer.tracking.tracker import About, Row

PROJECT = "eau"
MODE = "WANDB_MODE"
OFFLINE = "offline"
QUIET: Mapping[str, Any] = {
    "console": "off",
    "disable_code": True,
    "disable_git": True,
    "silent": True,
    "x_disable_machine_info": True,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_save_requirements": False,
}
"""Settings that keep everything at home which is no number of the run."""


class Wandb:
    """A run of Weights & Biases."""

    replaces = False

    def __init__(self, about: About, folder: Path, after: int) -> None:
        """Begin a run of that id, or go on with it.

        Args:
            about: The run.
            folder: Where its files go.
            after: The last step that is known to be written; the run finds its own end.
        """
        del after
        wandb = importlib.import_module("wandb")

        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            name=about.run,
            id=about.identity,
            dir=str(folder),
            mode=_mode(os.environ),
            resume="allow",
            config=dict(about.facts),
            settings=wandb.Settings(**QUIET),
        )

    def write(self, row: Row) -> None:
        """Take one row; another process writes it."""
        told = {row.marks_name: "\n".join(row.marks)} if row.marks else {}
        if row.numbers:
            # Without a word it would wait for the next step, and be lost with this process.
            self._run.log({**row.numbers, **told}, step=row.step, commit=True)
        else:
            # Its history takes nothing more for a step that is over.
            self._run.summary.update(told)

    def flush(self) -> None:
        """Do nothing: what was taken is with the process that writes."""

    def close(self) -> None:
        """Wait until everything is in the run's files or, online, sent."""
        self._run.finish()


def look(folder: Path, environment: Mapping[str, str]) -> str:
    """Return the command that sends a run, or where it is."""
    if _mode(environment) == OFFLINE:
        return f"wandb sync {quote(str(folder))}/wandb/offline-run-*"
    project = environment.get("WANDB_PROJECT") or PROJECT
    return f"project {project}, since {MODE} is {_mode(environment)}"


def _mode(environment: Mapping[str, str]) -> Any:
    return environment.get(MODE) or OFFLINE
