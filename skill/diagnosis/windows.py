"""Windows: a bounded look at a run, whatever its length.

Steps and events are read from the end of their files, episodes from the newest steps, all within
a budget of bytes; the rest of a long run is known by an outline of steps at even distances. A
damaged line costs itself alone and is counted. Nothing here judges what it reads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from gate.contract import files, knobs, ledger
from gate.contract.paths import RunPaths
from gate.contract.sides import Side
from skill.diagnosis.dialogue import Dialogue

RECENT_EPISODES = 320
"""Newest episodes by which the present is judged."""

_OTHER_SIDES = (Side.OLD, Side.ANCHOR)
"""What these episodes show is not what the run does now."""

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Budget:
    """How much of a run is looked at."""

    steps: int = 60
    """Newest step records."""
    outline: int = 48
    """Step records from all over the run."""
    events: int = 400
    """Newest events."""
    episodes: int = 2000
    """Newest episodes."""
    file_bytes: int = 4 << 20
    """Most bytes read of `steps.jsonl`, of `events.jsonl`, and of all episode files."""


@dataclass(frozen=True)
class Window:
    """What a diagnosis looks at; records are oldest first."""

    run: str
    now: float
    """Seconds since 1970, for the age of the heartbeat."""
    status: Record = field(default_factory=dict)
    steps: tuple[Record, ...] = ()
    outline: tuple[Record, ...] = ()
    """Steps at even distances over the whole run, the newest ones excepted."""
    events: tuple[Record, ...] = ()
    episodes: tuple[Record, ...] = ()
    knobs: knobs.Knobs | None = None
    """In force after the newest revision; None where the ledger does not tell."""
    torn: int = 0
    """Lines without a record among those that were read."""
    mended: int = 0
    """Records kept although their line was damaged."""
    notes: tuple[str, ...] = ()
    """What could not be read, and why."""

    @cached_property
    def dialogues(self) -> tuple[Dialogue, ...]:
        """Every episode read that was played under what was in force: no anchor, no old side."""
        return tuple(
            Dialogue(record) for record in self.episodes if record.get("side") not in _OTHER_SIDES
        )

    @property
    def recent(self) -> tuple[Dialogue, ...]:
        """The newest episodes: what the run does now."""
        return self.dialogues[-RECENT_EPISODES:]

    @cached_property
    def history(self) -> tuple[Record, ...]:
        """The outline and then the newest steps: the whole run, thinned out."""
        first = next((r["step"] for r in self.steps if isinstance(r.get("step"), int)), None)
        older = (r for r in self.outline if first is None or r["step"] < first)
        return (*older, *self.steps)

    def knob(self, path: str, world: str | None = None) -> Any:
        """Return a knob in force, such as `user.max_reveals`; None where that is not known."""
        return None if self.knobs is None else self.knobs.get(path, world)


def read(paths: RunPaths, *, now: float, budget: Budget | None = None) -> Window:
    """Look at a run.

    Args:
        paths: Its directory; whatever is missing there counts as empty.
        now: Seconds since 1970.
        budget: How much to look at.
    """
    limits = budget or Budget()
    steps = newest(paths.steps, limits.steps, limits.file_bytes)
    events = newest(paths.events, limits.events, limits.file_bytes)
    episodes = newest_episodes(paths, limits)
    notes: list[str] = []
    return Window(
        run=paths.root.resolve().name,
        now=now,
        status=_status(paths.status, notes),
        steps=steps.records,
        outline=outline(paths.steps, limits.outline),
        events=events.records,
        episodes=episodes.records,
        knobs=knobs_in_force(paths, notes),
        torn=steps.torn + events.torn + episodes.torn,
        mended=steps.mended + events.mended + episodes.mended,
        notes=tuple(notes),
    )


def newest(path: Path, most: int, most_bytes: int) -> files.Lines:
    """Read at most `most` records and about `most_bytes` bytes from the end of a file.

    Args:
        path: A file of JSON lines; a missing one is empty.
        most: Records, at most.
        most_bytes: Bytes, after which no further line is read; one line is always read.

    Returns:
        The records in the file's order, with what was torn or mended among them.
    """
    found: list[bytes] = []
    size = records = 0
    for line in files.lines_from_the_end(path):
        if records >= most or (found and size + len(line) > most_bytes):
            break
        found.append(line)
        size += len(line) + 1
        # What begins like a record counts as one; whether it is whole is seen once, below.
        records += line.lstrip()[:1] == b"{"
    return files.parse_lines(reversed(found))


def newest_episodes(paths: RunPaths, budget: Budget) -> files.Lines:
    """Read the newest episodes, whole steps as long as the budget lasts.

    Args:
        paths: The run.
        budget: The bytes are shared by all files; the oldest file of a window may be cut.

    Returns:
        The episodes, oldest first.
    """
    parts: list[files.Lines] = []
    count, left = 0, budget.file_bytes
    for name in _newest_names(paths.episodes):
        if count >= budget.episodes or left <= 0:
            break
        path = paths.episodes / name
        part = newest(path, budget.episodes - count, left)
        parts.append(part)
        count += len(part.records)
        left -= path.stat().st_size
    parts.reverse()
    return files.Lines(
        tuple(record for part in parts for record in part.records),
        torn=sum(part.torn for part in parts),
        mended=sum(part.mended for part in parts),
    )


def outline(path: Path, points: int) -> tuple[Record, ...]:
    """Read records at even distances in a file of lines, in time that does not grow with it.

    Args:
        path: `steps.jsonl`; a missing one has no records.
        points: Places that are looked at. A place in the middle of a line longer than a block, or
            at a torn line, gives nothing.

    Returns:
        Records in the order of their steps, each step once.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ()
    found: dict[int, Record] = {}
    try:
        size = os.fstat(descriptor).st_size
        for point in range(points):
            chunk = os.pread(descriptor, files.BLOCK_BYTES, size * point // points)
            # The first piece is the end of some line, except at the start of the file.
            lines = chunk.split(b"\n")[bool(point) : -1]
            record = files.parse_line(lines[0])[0] if lines else None
            step = record.get("step") if record else None
            if record is not None and isinstance(step, int):
                found[step] = record
    finally:
        os.close(descriptor)
    return tuple(found[step] for step in sorted(found))


def knobs_in_force(paths: RunPaths, notes: list[str]) -> knobs.Knobs | None:
    """Return the knobs after the newest revision of the ledger, None where it does not tell.

    Args:
        paths: The run.
        notes: Takes a sentence about what could not be read.
    """
    if not paths.ledger.is_file():
        notes.append("ledger.jsonl is missing, so the knobs in force are not known")
        return None
    try:
        worlds = sorted({path.name for path in paths.world.glob("*/*") if path.is_dir()})
        launch = knobs.from_values(ledger.launch_values(paths.ledger), worlds=worlds)
        return ledger.fold(paths.ledger, launch)
    except (ledger.Damaged, knobs.Refused, LookupError, TypeError, ValueError, AttributeError):
        notes.append("ledger.jsonl cannot be read as a ledger; `gate log` says where it breaks")
        return None


def _newest_names(directory: Path) -> list[str]:
    try:
        names = [name for name in os.listdir(directory) if name.endswith(".jsonl")]
    except FileNotFoundError:
        return []
    return sorted((name for name in names if name[0] != "."), reverse=True)


def _status(path: Path, notes: list[str]) -> Record:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        notes.append("status.json is missing: the run has not begun, or is no run of ours")
        return {}
    except (ValueError, RecursionError):
        notes.append("status.json is not whole; look again in a moment")
        return {}
    return value if isinstance(value, dict) else {}
