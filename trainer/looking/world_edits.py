"""How two revisions of a run's worlds differ, file by file, in lines.

The contents are code and prose from anybody: they are counted, never run and never repeated.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from gate.contract import world_folder
from gate.contract.paths import RunPaths
from gate.contract.records import told


@dataclass(frozen=True)
class FileEdit:
    """One file of a world that differs."""

    file: str = told("Its path below `world/NNNN/`, which begins with the world.")
    change: str = told("added, removed or changed.")
    plus: int = told("Lines that came.", unit="lines")
    minus: int = told("Lines that went.", unit="lines")

    def __str__(self) -> str:
        """Return the file with its lines that came and went, as in `travel/user.yaml +3 -1`."""
        word = "" if self.change == "changed" else f" ({self.change})"
        return f"{self.file} +{self.plus} -{self.minus}{word}"


def between(paths: RunPaths, old: int, new: int) -> tuple[FileEdit, ...]:
    """Return the files that differ between two revisions of a run's worlds, by path.

    Args:
        paths: The run.
        old: A folder `world/NNNN` by its number.
        new: Another; equal numbers differ in nothing.

    Raises:
        gate.contract.findings.Refused: if a folder holds what is not to be read, such as a link.
    """
    if old == new:
        return ()
    before, after = _contents(paths, old), _contents(paths, new)
    return tuple(
        _edit(file, before.get(file), after.get(file))
        for file in sorted({*before, *after})
        if before.get(file) != after.get(file)
    )


def _contents(paths: RunPaths, number: int) -> Mapping[str, bytes]:
    folder = paths.world_revision(number)
    worlds = sorted(path.name for path in folder.glob("*") if path.is_dir())
    return world_folder.read_all(folder, worlds, told=f"world/{number:04d}")


def _edit(file: str, before: bytes | None, after: bytes | None) -> FileEdit:
    # The first two lines of a difference name the files.
    lines = list(difflib.unified_diff(_lines(before), _lines(after), n=0, lineterm=""))[2:]
    signs = [line[:1] for line in lines]
    change = "added" if before is None else "removed" if after is None else "changed"
    return FileEdit(file, change, signs.count("+"), signs.count("-"))


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode("utf-8", "replace").splitlines()
