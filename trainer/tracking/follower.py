"""Following a run: each of its steps goes to a tracker, from the first, until the run is over.

How far it has come is put down before what a tracker would show twice, and after what replaces its
like: a follower that was killed repeats no step, and misses none where repeating does no harm. When
a run is over is for the caller to say. Nothing here writes to the run's records.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

from gate.contract.paths import RunPaths
from trainer.looking.pulse import ENDED, GRANTED_S, PATIENCE, is_there, usual_step_s
from trainer.looking.reading import Reader, Reading, number
from trainer.looking.wording import duration
from trainer.tracking import cursor as cursors
from trainer.tracking import rows
from trainer.tracking.cursor import Cursor
from trainer.tracking.tracker import About, Tracker

MOST_ROWS = 100
"""Rows that are written between two notes of how far the tracker has come."""
FORSAKEN_S = 12 * 3600.0
"""Seconds without a heartbeat after which a run is left although some process has its number."""

Bound = Callable[[], AbstractContextManager[None]]
"""Gives a block that ends the process where it takes too long, since a tracker may hang."""


class Followed(NamedTuple):
    """How following a run ended."""

    step: int
    """The newest step that the tracker has."""
    because: str
    """Why nothing more is to be expected."""


def follow(
    paths: RunPaths,
    open_tracker: Callable[[About, Path, int], Tracker],
    folder: Path,
    *,
    over: Callable[[Reading], str | None],
    wait: Callable[[], object],
    bound: Bound = nullcontext,
    say: Callable[[str], object] = print,
) -> Followed:
    """Write a run's steps to a tracker until the run is over, and then what is left of them.

    Args:
        paths: The run.
        open_tracker: Opens the tracker (see `Backend.open`).
        folder: The tracker's own, which is there; how far it has come stands in it.
        over: Tells why a run is over, None while it is not.
        wait: Waits until it is worth looking again.
        bound: Surrounds every call of the tracker.
        say: Told once of each damage of the records.
    """
    reader, cursor, damage = Reader(paths), cursors.read(folder), set[str]()
    reading = reader.read()
    with bound():
        tracker = open_tracker(rows.about(reading), folder, cursor.step)
    try:
        while (because := over(reading)) is None:
            cursor = _write(tracker, folder, reading, cursor, bound)
            for sentence in set(reading.damage) - damage:
                say(sentence)
            damage |= set(reading.damage)
            wait()
            reading = reader.read()
        # A step may have been put on file after this reading and before the end was told.
        cursor = _write(tracker, folder, reader.read(), cursor, bound, last=True)
    finally:
        with bound():
            tracker.close()
    return Followed(cursor.step, because)


def _write(
    tracker: Tracker,
    folder: Path,
    reading: Reading,
    cursor: Cursor,
    bound: Bound,
    *,
    last: bool = False,
) -> Cursor:
    """Write what is due; returns how far the tracker has come."""
    due = list(rows.due(reading, cursor, last=last))
    for start in range(0, len(due), MOST_ROWS):
        some = due[start : start + MOST_ROWS]
        cursor = some[-1].cursor
        if not tracker.replaces:
            cursors.write(folder, cursor)
        with bound():
            for one in some:
                tracker.write(one.row)
            tracker.flush()
        if tracker.replaces:
            cursors.write(folder, cursor)
    return cursor


def over(reading: Reading, now: float, *, alive: Callable[[int], bool] = is_there) -> str | None:
    """Return why no more is to be expected of a run, by its records; None while more may come.

    A run whose process is gone has the patience of `eau watch`, since whoever looks from another
    machine sees no process.

    Args:
        reading: The run.
        now: Seconds since 1970.
        alive: Tells whether a process of this machine is there.
    """
    phase = reading.status.get("phase")
    if phase in ENDED:
        return f"the run is {phase}"
    beat = number(reading.status.get("heartbeat")) or number(reading.launch.get("launched"))
    silent = 0.0 if beat is None else max(0.0, now - beat)
    there = alive(int(number(reading.status.get("pid")) or 0))
    most = FORSAKEN_S if there else max(GRANTED_S, PATIENCE * usual_step_s(reading))
    if silent <= most:
        return None
    told = "is silent" if there else "has no process on this machine and is silent"
    return f"the run {told}, for {duration(silent)}"
