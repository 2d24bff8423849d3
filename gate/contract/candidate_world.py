"""The candidate's worlds: files that would differ from the worlds in force, as plain bytes.

A candidate holds the files that differ and no others, below `candidate/world/<world>/`. They are
read with care and never run. What may be edited, and how, belongs to `gate.rules`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gate.contract import world_folder
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.paths import OutsideRoot, RunPaths, inside

FOLDER = "candidate/world"

LONGEST_DIFF = 64 * 1024
"""Characters of a difference that the ledger keeps."""


@dataclass(frozen=True)
class WorldChange:
    """One world as it is in force, and the files of it that would differ."""

    world: str
    before: Mapping[str, bytes]
    """Every file in force by its path within the world."""
    edits: Mapping[str, bytes]
    """The files that would differ, new ones included."""
    folder: str = FOLDER
    """Where the worlds lie whose files would differ."""

    @cached_property
    def after(self) -> Mapping[str, bytes]:
        """Every file as it would be."""
        return {**self.before, **self.edits}

    def place(self, path: str) -> str:
        """Return where an edited file stands."""
        return f"{self.folder}/{self.world}/{path}"

    def text(self, path: str) -> str:
        """Return an edited file as text; what is no text in it shows as such."""
        return self.edits[path].decode("utf-8", errors="replace")


def read(
    run: RunPaths, revision: int, *, wanted: Collection[str], worlds: Collection[str]
) -> tuple[WorldChange, ...]:
    """Return what a run's candidate worlds change against the worlds in force.

    Args:
        run: The run.
        revision: The folder `world/NNNN` in force.
        wanted: The worlds whose files are meant; empty for all that lie there.
        worlds: Names of the run's worlds.

    Raises:
        Refused: for every file that is not to be read, every world that the run does not have,
            and every file that is a copy of an older revision's.
    """
    findings: list[Finding] = []
    changes: list[WorldChange] = []
    for world in _names(run, wanted):
        told = f"{FOLDER}/{world}"
        if world not in worlds:
            known = ", ".join(sorted(worlds)) or "none"
            message = f"{told}: the run has no world {world}; its worlds are {known}."
            findings.append(_flaw("unknown", message, "Use the name of one of them.", told))
            continue
        try:
            home = inside(run.root, told)
            written = world_folder.read(home, told=told) if home.is_dir() else None
            before = world_folder.read(run.world_revision(revision) / world, told=f"world/{world}")
        except OutsideRoot as error:
            findings.append(_flaw("link", f"{error}.", "Put a folder in its place.", told))
            continue
        except Refused as refused:
            findings += refused.findings
            continue
        if written is None:
            message = f"{told} is not there, or no folder."
            step = f"Copy the files to edit from world/{revision:04d}/{world} to it."
            findings.append(_flaw("missing", message, step, told))
            continue
        edits = {path: new for path, new in written.items() if before.get(path) != new}
        findings += _old_copies(run, revision, world, edits)
        if edits:
            changes.append(WorldChange(world, before, edits))
    if findings:
        raise Refused(findings)
    return tuple(changes)


def difference(changes: Sequence[WorldChange]) -> str:
    """Return how the files would differ, as a patch to read, cut where it is long."""
    lines: list[str] = []
    for change in changes:
        for path, new in change.edits.items():
            old = change.before.get(path)
            name = f"{change.world}/{path}"
            lines += difflib.unified_diff(
                [] if old is None else old.decode("utf-8", "replace").splitlines(),
                new.decode("utf-8", "replace").splitlines(),
                "/dev/null" if old is None else f"a/{name}",
                f"b/{name}",
                lineterm="",
            )
    text = "\n".join(lines)
    if len(text) <= LONGEST_DIFF:
        return text
    return f"{text[:LONGEST_DIFF]}\n… and {len(text) - LONGEST_DIFF} more characters"


def _names(run: RunPaths, wanted: Collection[str]) -> list[str]:
    """Return the worlds to look at: those that are meant, else all that lie there."""
    if wanted:
        return list(wanted)
    try:
        return sorted(os.listdir(inside(run.root, FOLDER)))
    except OutsideRoot as error:
        step = "Put a folder in the place of the link."
        raise Refused([_flaw("link", f"{error}.", step, FOLDER)]) from error
    except OSError:
        return []


def _old_copies(
    run: RunPaths, revision: int, world: str, edits: Mapping[str, bytes]
) -> list[Finding]:
    """Return a finding for every file that would silently undo a newer revision."""
    found: list[Finding] = []
    for path, new in edits.items():
        for older in range(revision):
            earlier = run.world_revision(older) / world / path
            if earlier.is_file() and earlier.read_bytes() == new:
                message = (
                    f"{FOLDER}/{world}/{path} is a copy of world/{older:04d}, and would undo what "
                    f"revision {revision} changed in it."
                )
                step = f"Copy it again from world/{revision:04d}; to go back, revert the revision."
                found.append(_flaw("old-copy", message, step, f"{FOLDER}/{world}/{path}"))
                break
    return found


def _flaw(rule: str, message: str, next_step: str, file: str) -> Finding:
    return Finding(f"candidate.{rule}", Severity.ERROR, message, next_step, file=file)
