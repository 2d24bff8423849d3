"""Proven: what of a run's changes the gate found to help, and still stands.

A revision is proven when the newest verdict about it is `help` and nothing took it back. Read from
the ledger alone, which nobody but the gate writes; nothing here judges.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gate.contract import files, ledger
from gate.contract.knobs import KnobChange
from gate.contract.ledger import EntryKind, Revision, RevisionKind
from gate.contract.paths import RunPaths, inside
from trainer.errors import Unusable

LARGEST = 1 << 20
"""Bytes of one file of a world."""


class PromotionError(Unusable):
    """A run whose changes cannot be taken over as asked; the message says what to do."""


@dataclass(frozen=True)
class WorldFile:
    """One file of a world that a run changed."""

    world: str
    path: str
    """Relative to the world's folder."""
    old: bytes | None
    """At the launch; None if the file is new."""
    new: bytes | None
    """Now; None if the file was removed."""


@dataclass(frozen=True)
class Taken:
    """What of a run is taken over."""

    revisions: tuple[int, ...]
    changes: tuple[KnobChange, ...] = ()
    """The newest value of each knob, once."""
    world_files: tuple[WorldFile, ...] = ()
    left: Mapping[int, str] = field(default_factory=dict[int, str])
    """Revisions that are left, each with its reason."""


def take(run: RunPaths, *, everything: bool = False) -> Taken:
    """Return what a run proved.

    Args:
        run: The run.
        everything: True to take what is in force, proven or not.

    Raises:
        ledger.Damaged: if the ledger cannot be read.
        PromotionError: if a proven world stands on edits of worlds that are not proven.
    """
    history = ledger.revisions(run.ledger)
    left = {} if everything else _unproven(run, history)
    taken_back = _taken_back(history)
    kept = [
        one
        for one in history
        if one.number
        and one.number not in left
        and one.number not in taken_back
        and one.kind is not RevisionKind.REVERT
    ]
    values = {change.path: change for one in kept for change in one.changes}
    return Taken(
        revisions=tuple(one.number for one in kept),
        changes=tuple(values.values()),
        world_files=_world_files(run, history, kept, taken_back),
        left=left,
    )


def sets(run: RunPaths) -> list[str]:
    """Return the proven knobs as a launch takes them: `knobs.user.max_reveals=3`.

    Values of single worlds are left out: a launch sets knobs for all worlds.
    """
    changes = take(run).changes
    whole = [change for change in changes if ".worlds." not in change.path]
    return [f"knobs.{change.path}={json.dumps(change.new)}" for change in whole]


def _unproven(run: RunPaths, history: Sequence[Revision]) -> dict[int, str]:
    verdicts: dict[int, str] = {}
    for entry in ledger.entries(run.ledger):
        if entry.kind is EntryKind.OUTCOME and entry.revision is not None:
            verdicts[entry.revision] = str(entry.body.get("verdict", "")).lower()
    return {
        one.number: verdicts.get(one.number, "no verdict")
        for one in history
        if one.number and one.kind is not RevisionKind.REVERT and verdicts.get(one.number) != "help"
    }


def _taken_back(history: Sequence[Revision]) -> set[int]:
    return {
        int(one.details["reverts"])
        for one in history
        if one.kind is RevisionKind.REVERT and "reverts" in one.details
    }


def _world_files(
    run: RunPaths, history: Sequence[Revision], kept: Sequence[Revision], taken_back: set[int]
) -> tuple[WorldFile, ...]:
    """Return the files in which the newest kept world differs from that of the launch."""
    before = {one.number: base for base, one in zip((0, *history), history, strict=False)}
    moved = [one for one in history if one.number and one.world != _world(before[one.number])]
    newest = next((one for one in reversed(moved) if one in kept), None)
    if newest is None or newest.world == 0:
        return ()
    below = [one for one in moved if one.number <= newest.number and one.number not in taken_back]
    loose = [one.number for one in below if one not in kept]
    if loose:
        raise PromotionError(
            f"revision {newest.number} changes a world on top of revision {loose[0]}, which is not "
            "proven; take both with --everything, or neither"
        )
    old, new = run.world / "0000", run.world / f"{newest.world:04d}"
    names = sorted({*_names(old), *_names(new)})
    found: list[WorldFile] = []
    for name in names:
        world, _, path = name.partition("/")
        found.append(WorldFile(world, path, _read(old, name), _read(new, name)))
    return tuple(one for one in found if one.old != one.new)


def _world(before: object) -> int:
    return before.world if isinstance(before, Revision) else 0


def _names(folder: Path) -> list[str]:
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.parent != folder
    ]


def _read(folder: Path, name: str) -> bytes | None:
    try:
        return files.read_plain(inside(folder, name), most=LARGEST)
    except FileNotFoundError:
        return None
