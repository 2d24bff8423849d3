"""Reading a run for whoever looks at it: all its records, once, however little of them is there.

A run that is only being launched, has no step yet, or holds a damaged line is read as far as it
goes, and what is wrong with it is told in sentences. Nothing here writes, locks or judges.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gate.contract import files, ledger
from gate.contract.findings import Refused
from gate.contract.ledger import Entry, Revision
from gate.contract.paths import RunPaths
from gate.guard import history
from gate.guard.history import History
from trainer.looking.growing import Growing
from trainer.run_folder import LaunchError, read_record

Record = Mapping[str, Any]
"""One record as it was parsed: a field may lack or be of any type."""


@dataclass(frozen=True)
class Reading:
    """The records of a run at one moment."""

    paths: RunPaths
    launch: Record
    """`run.yaml`; empty where it cannot be read."""
    status: Record
    """`status.json`; empty where it cannot be read."""
    steps: Sequence[Record]
    """One record a step, by their numbers; of a step that is on file twice, the later one."""
    events: Sequence[Record]
    entries: Sequence[Entry]
    """The lines of the ledger; none where it cannot be trusted."""
    past: History | None
    """What the ledger says; None where it cannot be trusted or is not there yet."""
    damage: tuple[str, ...]
    """What is wrong with the records, each in a sentence with what to do."""

    @property
    def run(self) -> str:
        """The id of the run."""
        return self.paths.root.name

    def step(self, number: int) -> Record | None:
        """Return the record of a step; None without one."""
        return next((one for one in self.steps if one["step"] == number), None)

    def revision(self, number: int) -> Revision | None:
        """Return a revision by its number; None if the ledger has none of it."""
        known = self.past.revisions if self.past is not None else ()
        return next((one for one in known if one.number == number), None)


class Reader:
    """Reads one run as often as asked; of what is appended each line is read once."""

    def __init__(self, paths: RunPaths) -> None:
        """Read nothing yet.

        Args:
            paths: The run; its folder need not be complete.
        """
        self._paths = paths
        self._begin()
        self._launch: Record = {}
        self._ledger: tuple[tuple[int, int] | None, tuple[Entry, ...], History | None, str] = (
            None,
            (),
            None,
            "",
        )

    def read(self) -> Reading:
        """Return the records as they are now."""
        self._follow()
        if not self._launch:
            self._launch = _launch(self._paths)
        self._read_ledger()
        _, entries, past, damage = self._ledger
        status = _status(self._paths)
        told = [damage] if damage else []
        if status is None:
            told.append(f"{self._paths.status.name} holds no record; the next step writes it anew")
        for path, growing in (
            (self._paths.steps, self._growing[0]),
            (self._paths.events, self._growing[1]),
        ):
            if growing.unreadable:
                told.append(f"{path.name}: {growing.unreadable} lines hold no record; left out")
        return Reading(
            paths=self._paths,
            launch=self._launch,
            status=status or {},
            steps=tuple(self._steps[number] for number in sorted(self._steps)),
            events=tuple(self._events),
            entries=entries,
            past=past,
            damage=tuple(told),
        )

    def _begin(self) -> None:
        self._growing = (Growing(self._paths.steps), Growing(self._paths.events))
        self._steps: dict[int, Record] = {}
        self._events: list[Record] = []

    def _follow(self) -> None:
        steps, events = (one.read() for one in self._growing)
        if steps is None or events is None:
            self._begin()
            steps, events = (one.read() or () for one in self._growing)
        self._steps |= {one["step"]: one for one in steps if isinstance(one.get("step"), int)}
        self._events += [one for one in events if isinstance(one.get("kind"), str)]

    def _read_ledger(self) -> None:
        path = self._paths.ledger
        seen = _signature(path)
        if seen == self._ledger[0]:
            return
        entries: tuple[Entry, ...] = ()
        past, damage = None, ""
        if seen is not None:
            try:
                entries = ledger.entries(path)
                past = history.read(path, worlds=worlds_of(self._paths))
            except (ledger.Damaged, Refused) as error:
                damage, entries = f"{path.name} cannot be trusted: {error}", ()
        self._ledger = (seen, entries, past, damage)


def worlds_of(paths: RunPaths) -> tuple[str, ...]:
    """Return the names of the worlds that lie in a run, in order."""
    return tuple(sorted({path.name for path in paths.world.glob("*/*") if path.is_dir()}))


def number(value: Any) -> float | None:
    """Return a value of a record as a finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < float("inf") else None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a value of a record if it is a map; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def _launch(paths: RunPaths) -> Record:
    try:
        return read_record(paths)
    except LaunchError:
        return {}


def _status(paths: RunPaths) -> Record | None:
    """Return the status; an empty one where there is none yet, None where it cannot be read."""
    try:
        content = paths.status.read_bytes()
    except FileNotFoundError:
        return {}
    return files.parse_line(content)[0]


def _signature(path: os.PathLike[str]) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size
