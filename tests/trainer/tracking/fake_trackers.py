"""Trackers without a package: one that keeps what it is told, and some that misbehave.

As a program it is a follower of a run whose tracker is one of these, called as `eau track` is:
`python -m tests.trainer.tracking.fake_trackers NAME RUN --to KIND --beside PROCESS`.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gate.contract import files
from gate.contract.paths import RunPaths
from trainer.tracking import process
from trainer.tracking.tracker import About, Row, Tracker

ROWS = "rows.jsonl"


class Keeper:
    """Appends every row to a file of its folder, as a tracker that cannot replace one."""

    replaces = False

    def __init__(self, about: About, folder: Path, after: int) -> None:
        self.about, self.after = about, after
        self._path = folder / ROWS
        self.closed = self.flushed = 0

    def write(self, row: Row) -> None:
        """Append the row."""
        told = {"step": row.step, "time": row.time, "marks": list(row.marks)}
        files.append_line(self._path, {**told, "numbers": dict(row.numbers)})

    def flush(self) -> None:
        """Count."""
        self.flushed += 1

    def close(self) -> None:
        """Count."""
        self.closed += 1


class Replacing(Keeper):
    """The same, if a row could take the place of another."""

    replaces = True


class Broken(Keeper):
    """Raises at the second step, with a secret of its environment in the message."""

    def write(self, row: Row) -> None:
        """Keep one row and refuse the next."""
        if row.step == 2:
            raise ConnectionError("key sesame was refused")
        super().write(row)


class Stuck(Keeper):
    """Hangs at the first step and does not listen."""

    def write(self, row: Row) -> None:
        """Hang."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("stuck", flush=True)
        time.sleep(600)


class Flooding(Keeper):
    """Prints without end, as far as it is let."""

    def write(self, row: Row) -> None:
        """Print."""
        while True:
            print("x" * 65536, flush=True)


FAKES: dict[str, Callable[[About, Path, int], Tracker]] = {
    "keeper": Keeper,
    "broken": Broken,
    "stuck": Stuck,
    "flooding": Flooding,
}


def command(name: str) -> tuple[str, ...]:
    """Return what starts a follower with one of these."""
    return (sys.executable, "-m", "tests.trainer.tracking.fake_trackers", name)


def kept(folder: Path) -> list[dict[str, Any]]:
    """Return the rows that a keeper has."""
    return list(files.read_lines(folder / ROWS).records)


def main(name: str, root: str, _to: str, kind: str, _beside: str, trainer: str) -> None:
    """Follow a run as `eau track --beside` does."""
    process.stand_back(1 << 20)
    folder = RunPaths(Path(root)).tracking / kind
    process.follow(RunPaths(Path(root)), FAKES[name], folder, beside=int(trainer))
    print(json.dumps({"ended": True}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
