"""Promotion: what a run proved comes back into the repository as a diff that a person reads.

Knobs go into the starting set in `knobs/`, edits of worlds into `trainer/worlds/`. A file that was
changed in the repository since the run was launched is not written over. Nothing is committed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gate.contract import files, knobs
from gate.contract.knobs import KnobChange
from trainer.proven import Taken, WorldFile

WORLDS = Path("trainer/worlds")


@dataclass(frozen=True)
class Edit:
    """One file of the repository as it would be."""

    path: Path
    """Relative to the checkout."""
    old: bytes | None
    new: bytes | None
    conflict: str = ""
    """Why it is left alone; empty if it is not."""

    def patch(self) -> str:
        """Return the difference, as `git apply` takes it."""
        old, new = _lines(self.old), _lines(self.new)
        before = f"a/{self.path}" if self.old is not None else "/dev/null"
        after = f"b/{self.path}" if self.new is not None else "/dev/null"
        return "".join(difflib.unified_diff(old, new, before, after))


def edits(taken: Taken, *, checkout: Path) -> tuple[Edit, ...]:
    """Return how the files of a checkout would change; those that stay are left out.

    Args:
        taken: What of a run is taken over.
        checkout: The checkout.

    Raises:
        gate.contract.findings.Refused: if a starting file cannot be read or edited.
    """
    found = [*_knob_files(taken.changes, checkout), *_world_files(taken.world_files, checkout)]
    return tuple(one for one in found if one.conflict or one.old != one.new)


def write(made: Iterable[Edit], *, checkout: Path) -> None:
    """Write edits into a checkout; those in conflict are passed over.

    Args:
        made: What `edits` returned.
        checkout: The checkout.
    """
    for one in made:
        target = checkout / one.path
        if one.conflict:
            continue
        if one.new is None:
            target.unlink()
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(target, one.new)


def _knob_files(changes: Iterable[KnobChange], checkout: Path) -> Iterable[Edit]:
    by_file: dict[str, list[KnobChange]] = {}
    for change in changes:
        by_file.setdefault(change.path.partition(".")[0], []).append(change)
    for name, mine in by_file.items():
        path = Path("knobs") / f"{name}.yaml"
        content = (checkout / path).read_bytes()
        yield Edit(path, content, knobs.edit(name, content, mine))


def _world_files(changed: Iterable[WorldFile], checkout: Path) -> Iterable[Edit]:
    for one in changed:
        path = WORLDS / one.world / one.path
        place = checkout / path
        here = place.read_bytes() if place.is_file() else None
        if here == one.new:
            continue
        conflict = "" if here == one.old else "it is not what the run was launched with"
        yield Edit(path, here, one.new, conflict)


def _lines(content: bytes | None) -> list[str]:
    if content is None:
        return []
    lines = content.decode("utf-8", "replace").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n\\ No newline at end of file\n"
    return lines
