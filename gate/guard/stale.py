"""An editor buffer opened before a newer revision must not silently undo it.

A saved file is compared three ways: what it says, what is in force, and what was in force
before. Values that a newer revision changed and the file puts back betray an old buffer. This
module looks at changes alone; it knows nothing about files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gate.contract.findings import Finding, Severity
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Revision, RevisionKind

MEMORY = 8
"""Revisions back that a buffer is suspected to come from."""


class Restored(NamedTuple):
    """A knob that would go back, and the revision that this would undo."""

    change: KnobChange
    revision: Revision


def check(file: str, changes: Sequence[KnobChange], history: Sequence[Revision]) -> list[Finding]:
    """Return a finding for each newer value that one saved file would undo.

    Putting back a value that was itself saved in place is taken as meant when the file does
    nothing else: then its author has seen what it replaces. With other changes beside it, or
    against a revision that came by a command, it looks like an old buffer.

    Args:
        file: The file, as its reader knows it.
        changes: What the file would change, against what is in force.
        history: All revisions in force, oldest first.
    """
    restored = list(_restored(changes, history[-MEMORY:]))
    alone = len(restored) == len(changes)
    return [
        _finding(file, found)
        for found in restored
        if not (alone and found.revision.kind is RevisionKind.DIRECT_EDIT)
    ]


def _restored(changes: Sequence[KnobChange], recent: Sequence[Revision]) -> Iterator[Restored]:
    for change in changes:
        past = [
            (revision, earlier)
            for revision in reversed(recent)
            for earlier in revision.changes
            if earlier.path == change.path
        ]
        if any(earlier.old == change.new for _, earlier in past):
            yield Restored(change, past[0][0])


def _finding(file: str, restored: Restored) -> Finding:
    change, revision = restored
    why = f" ({revision.reason})" if revision.reason else ""
    if revision.kind is RevisionKind.DIRECT_EDIT:
        on_purpose = "save that alone, without other changes"
    else:
        on_purpose = f"do that first, then run `gate set RUN {change.path} {change.new} --reason`"
    return Finding(
        rule="guard.stale-buffer",
        severity=Severity.ERROR,
        message=(
            f"{file} is an older copy: it would silently undo revision {revision.number}{why} by "
            f"putting {change.path} back from {change.old} to {change.new}."
        ),
        next_step=(
            f"Write {change.old} there and save, to keep revision {revision.number}; "
            f"to go back on purpose, {on_purpose}."
        ),
        file=file,
        path=change.path,
        value=change.new,
        limit=change.old,
    )
