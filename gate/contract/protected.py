"""Protected paths: the code that judges and the tasks that measure, one digest per folder.

A run records the digests when it is launched; whoever decides about a change compares. Folders
are told apart so that a refusal can name the one that differs. Nothing here decides anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from gate.contract import files

TREES = ("gate", "trainer")
"""Folders of the checkout that nothing may change while a run is live; `trainer/worlds` holds the
evaluation tasks."""

CHECKOUT = Path(__file__).resolve().parents[2]


def digests(root: Path = CHECKOUT) -> dict[str, str]:
    """Return the sha256 of every protected folder that holds files, by its path within a checkout.

    It covers the names and bytes of the files directly in the folder. What Python compiled is
    left out; a link counts as the path that it holds. A file that this process may not read, as
    inside a fence, makes its folder differ.

    Args:
        root: The checkout.
    """
    return {
        folder: files.content_digest("\n".join(lines).encode())
        for tree in TREES
        for folder, lines in _folders(root, tree)
    }


def differences(launched: Mapping[str, str], found: Mapping[str, str]) -> tuple[str, ...]:
    """Return the protected folders that were changed, added or removed since a launch.

    Args:
        launched: The digests of the launch; entries for other paths are passed over.
        found: The digests now.
    """
    then = {path: digest for path, digest in launched.items() if path.split("/")[0] in TREES}
    return tuple(sorted(path for path in {*then, *found} if then.get(path) != found.get(path)))


def _folders(root: Path, tree: str) -> Iterator[tuple[str, list[str]]]:
    for folder, subfolders, names in os.walk(root / tree):
        subfolders[:] = sorted(name for name in subfolders if name != "__pycache__")
        links = [name for name in subfolders if Path(folder, name).is_symlink()]
        lines = [_line(Path(folder, name)) for name in sorted([*names, *links])]
        if lines:
            yield Path(folder).relative_to(root).as_posix(), lines


def _line(path: Path) -> str:
    if path.is_symlink():
        return f"{path.name} -> {os.readlink(path)}"
    try:
        return f"{path.name} {files.content_digest(path.read_bytes())}"
    except PermissionError:
        return f"{path.name} may not be read"
