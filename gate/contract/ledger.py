"""The ledger: every revision of a run and what became of it, append-only and chained.

Each line carries the sha256 of the line before, so that an edited, removed or reordered line is
noticed. A revision counts from its `committed` line on. This module reads and appends; the order
in which files and lines are written belongs to `gate.contract.revisions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from gate.contract import files, knobs

FIRST = "0" * 64
"""What the first line carries in place of a digest."""


_HEAD = frozenset({"seq", "kind", "step", "time", "previous"})


class Damaged(ValueError):
    """A ledger that cannot be trusted; says which line, and what to do."""


class EntryKind(StrEnum):
    """What a line of the ledger records."""

    LAUNCH = "launch"
    """Revision 0: the values and the files that a run began with."""
    INTENT = "intent"
    """A revision is about to come into force; all of it is on the disk."""
    COMMITTED = "committed"
    """A revision is in force."""
    ABANDONED = "abandoned"
    """A revision was interrupted and what it would have written is lost."""
    REFUSED = "refused"
    """A change was looked at and did not come into force."""
    OPENED = "opened"
    """A test of a revision in force was declared; see `gate.contract.experiments`."""
    OUTCOME = "outcome"
    """What a revision in force was found to do."""


class Author(StrEnum):
    """Who wanted a change."""

    PERSON = "person"
    META_AGENT = "meta_agent"
    GATE = "gate"
    UNATTRIBUTED = "unattributed"
    """A file was saved in place; nothing says by whom."""


class RevisionKind(StrEnum):
    """By which door a revision came."""

    LAUNCH = "launch"
    DIRECT_EDIT = "direct_edit"
    """A live file was saved in place and found at a step boundary."""
    COMMAND = "command"
    """`gate set`, or another command of the gate."""
    PROPOSAL = "proposal"
    """A proposal that the gate let pass; `Revision.details` holds what it said."""
    REVERT = "revert"
    """An earlier revision taken back; `Revision.details` names it."""
    PLANTED = "planted"
    """A fault that the launch declared, to see whether it is noticed and mended."""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    line: int
    """Its number in the file, from 1."""
    seq: int
    """Its number among the records, from 0."""
    kind: EntryKind
    step: int
    """The training step at whose start it was written; 0 before the first."""
    time: float
    """Seconds since 1970."""
    previous: str
    """The sha256 of the record before."""
    digest: str
    """The sha256 of this record's bytes."""
    body: Mapping[str, Any]
    """What belongs to the kind."""

    @property
    def revision(self) -> int | None:
        """The revision it speaks of, if it speaks of one."""
        return self.body.get("revision")


@dataclass(frozen=True)
class Revision:
    """One set of changes that came into force as a whole."""

    number: int
    kind: RevisionKind
    author: Author
    reason: str
    step: int
    """The first training step under it."""
    time: float
    changes: tuple[knobs.KnobChange, ...]
    files: Mapping[str, str]
    """The sha256 of every file it wrote or found, by path within the run."""
    base: int = 0
    """The revision that was in force before it."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What belongs to its kind, as JSON values: `proposal` (number, digest, window, ...), or
    `reverts` (the number of a revision)."""
    world: int = 0
    """The folder `world/NNNN` that is in force under it."""


@dataclass(frozen=True)
class Chain:
    """Whether the lines of a ledger still hang together."""

    ok: bool
    length: int
    """Records that were read."""
    torn: int = 0
    """Lines without a record, as a crash leaves them; they break nothing."""
    first_bad_line: int | None = None
    """Number of the first line that does not follow from the one before, from 1."""


def append(path: Path, kind: EntryKind, body: Mapping[str, Any], *, step: int, now: float) -> Entry:
    """Add one line and wait until it is on the disk; the caller holds the run's lock.

    Args:
        path: The ledger.
        kind: What the line records.
        body: What belongs to the kind, as JSON values.
        step: The training step at whose start it is written.
        now: Seconds since 1970.

    Raises:
        DiskFull: if there is no room; a torn line may be left.
    """
    last = last_entry(path)
    record = {
        "seq": 0 if last is None else last.seq + 1,
        "kind": str(kind),
        "step": step,
        "time": now,
        "previous": FIRST if last is None else last.digest,
        **body,
    }
    return _entry(files.append_line(path, record, durable=True), record, line_number=0)


def entries(path: Path) -> tuple[Entry, ...]:
    """Read every record of a ledger; a missing one has none, torn lines are passed over.

    Raises:
        Damaged: if a record is not one of a ledger, naming its line.
    """
    if not path.exists():
        return ()
    found: list[Entry] = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        record, _ = files.parse_line(line)
        if record is not None:
            found.append(_entry(line, record, line_number=number))
    return tuple(found)


def last_entry(path: Path) -> Entry | None:
    """Read the last record alone; its `line` is 0, since the file is read from its end."""
    for line in files.lines_from_the_end(path):
        record, _ = files.parse_line(line)
        if record is not None:
            return _entry(line, record, line_number=0)
    return None


def verify(path: Path) -> Chain:
    """Check that every record follows from the one before.

    A ledger that lost its last lines still hangs together; the step records know the revision
    that was last in force.
    """
    previous, count, torn = FIRST, 0, 0
    content = path.read_bytes() if path.exists() else b""
    for number, line in enumerate(content.split(b"\n"), start=1):
        record, _ = files.parse_line(line)
        if record is None:
            torn += bool(line.strip())
        elif record.get("previous") != previous or record.get("seq") != count:
            return Chain(False, count, torn, number)
        else:
            previous, count = files.content_digest(line), count + 1
    return Chain(True, count, torn)


def launch_values(path: Path) -> Mapping[str, Any]:
    """Return the values that a run began with, as `knobs.from_values` takes them.

    Raises:
        Damaged: if the ledger does not begin with a launch.
    """
    for entry in entries(path)[:1]:
        if entry.kind is EntryKind.LAUNCH:
            return entry.body["knobs"]
    raise Damaged(f"{path} does not begin with a launch line; is this the ledger of a run?")


def revisions(path: Path) -> tuple[Revision, ...]:
    """Return the revisions in force so far, the launch first.

    One whose `committed` line is missing is not among them: it was interrupted, and
    `gate.contract.revisions.recover` decides about it.
    """
    intents: dict[int, Entry] = {}
    found: list[Revision] = []
    for entry in entries(path):
        # A revision that says nothing of worlds keeps those that were in force before it.
        world = found[-1].world if found else 0
        if entry.kind is EntryKind.LAUNCH:
            found.append(_revision(entry, step=0, world=world))
        elif entry.kind is EntryKind.INTENT:
            intents[entry.body["revision"]] = entry
        elif entry.kind is EntryKind.COMMITTED:
            intent = intents[entry.body["revision"]]
            found.append(_revision(intent, step=entry.step, world=world))
    return tuple(found)


def pending(path: Path) -> Entry | None:
    """Return the intent that nothing was committed or abandoned after, if there is one."""
    open_intent: Entry | None = None
    for entry in entries(path):
        if entry.kind is EntryKind.INTENT:
            open_intent = entry
        elif entry.kind in (EntryKind.COMMITTED, EntryKind.ABANDONED):
            open_intent = None
    return open_intent


def next_revision(path: Path) -> int:
    """Return a number that no revision has had, not even an abandoned one."""
    return 1 + max((entry.revision or 0 for entry in entries(path)), default=-1)


def fold(path: Path, launch: knobs.Knobs, *, upto: int | None = None) -> knobs.Knobs:
    """Return the knobs in force after the revisions of a ledger.

    Args:
        path: The ledger.
        launch: The knobs of revision 0 (see `launch_values`).
        upto: The last revision to apply; by default the newest.
    """
    return fold_revisions(revisions(path), launch, upto=upto)


def fold_revisions(
    history: Sequence[Revision], launch: knobs.Knobs, *, upto: int | None = None
) -> knobs.Knobs:
    """Return the knobs in force after revisions that were read already (see `fold`)."""
    current = launch
    for revision in history:
        if upto is None or revision.number <= upto:
            current = knobs.apply(current, revision.changes)
    return current


def file_digests(history: Sequence[Revision], *, upto: int | None = None) -> dict[str, str]:
    """Return the sha256 that each file of the run has under a revision, by path."""
    digests: dict[str, str] = {}
    for revision in history:
        if upto is None or revision.number <= upto:
            digests.update(revision.files)
    return digests


def _entry(line: bytes, record: Mapping[str, Any], *, line_number: int) -> Entry:
    try:
        return Entry(
            line=line_number,
            seq=record["seq"],
            kind=EntryKind(record["kind"]),
            step=record["step"],
            time=record["time"],
            previous=record["previous"],
            digest=files.content_digest(line),
            body={key: value for key, value in record.items() if key not in _HEAD},
        )
    except (KeyError, ValueError) as error:
        raise Damaged(
            f"ledger line {line_number}: {error} is missing or not known; the line was not "
            "written by the gate, `gate log` shows where the chain breaks"
        ) from error


def _revision(entry: Entry, *, step: int, world: int) -> Revision:
    body = entry.body
    return Revision(
        number=body["revision"],
        kind=RevisionKind(body["origin"]),
        author=Author(body["author"]),
        reason=body["reason"],
        step=step,
        time=entry.time,
        changes=tuple(knobs.KnobChange.from_json(change) for change in body.get("changes", ())),
        files={entry["path"]: entry["digest"] for entry in body["files"]},
        base=body.get("base", 0),
        world=body.get("world", world),
        details=body.get("details", {}),
    )
