"""Trackio: a database under the run's own folder, unless the environment names another place.

Without `TRACKIO_SPACE_ID` or `TRACKIO_SERVER_URL` nothing leaves the machine, and no account is
looked up. What Trackio itself cannot write it only warns of, in the follower's log.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from trainer.tracking.tracker import About, Row

PROJECT = "eau"
FOLDER = "TRACKIO_DIR"
REMOTE = ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL")
"""Variables by which a person says that a run shall leave the machine."""


class Trackio:
    """A run of Trackio."""

    replaces = False

    def __init__(self, about: About, folder: Path, after: int) -> None:
        """Begin a run of that name, or go on with it.

        Args:
            about: The run.
            folder: Where the database goes.
            after: The last step that is known to be written; Trackio finds its own end.
        """
        del after
        # Trackio reads its place when it is imported, and asks the hub who somebody is.
        os.environ.setdefault(FOLDER, str(folder))
        if not any(os.environ.get(name) for name in REMOTE):
            os.environ["HF_HUB_OFFLINE"] = "1"
        trackio = importlib.import_module("trackio")

        self._markdown, self._finish = trackio.Markdown, trackio.finish
        self._run = trackio.init(
            PROJECT,
            name=about.identity,
            config=dict(about.facts),
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def write(self, row: Row) -> None:
        """Take one row; Trackio writes it within a second."""
        told = {row.marks_name: self._markdown(_fenced(row.marks))} if row.marks else {}
        self._run.log({**row.numbers, **told}, step=row.step)

    def flush(self) -> None:
        """Do nothing: Trackio offers no way to wait for its own writing but to end the run."""

    def close(self) -> None:
        """Wait until everything is in the database."""
        self._finish()


def look(folder: Path, environment: Mapping[str, str]) -> str:
    """Return the command that shows a run, or where it is sent."""
    for name in REMOTE:
        if environment.get(name):
            return f"project {PROJECT} where {name} leads"
    place = quote(environment.get(FOLDER) or str(folder))
    return f"{FOLDER}={place} trackio show --project {PROJECT}"


def _fenced(marks: tuple[str, ...]) -> str:
    """Return marks as Markdown that shows them as they are: an indented block."""
    return "\n".join(f"    {mark}" for mark in marks)
