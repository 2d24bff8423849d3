"""Folders of worlds as plain bytes: read with care, compared by digest, never run.

Whoever may write below such a folder may put a link, a pipe or a giant in a file's place; none of
them is followed, waited for or read whole. What the files mean is not known here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from gate.contract import files
from gate.contract.findings import Finding, Refused, Severity

LARGEST = 256 * 1024
"""Bytes of one file of a world; real ones have about ten thousand."""

MOST = 200
"""Files of one world; real ones have about ten."""

DEEPEST = 4
"""Folders below a world's own."""

COMPILED = "__pycache__"
"""What Python leaves behind; it is never read, copied or compared."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\Z")


def read(folder: Path, *, told: str, without: Collection[str] = ()) -> dict[str, bytes]:
    """Return the bytes of every file below a folder, by its path within, in their order.

    Args:
        folder: The folder of one world; one that is not there has no files.
        told: What findings call it, as `candidate/world/travel`.
        without: Files and folders directly in it that are passed over.

    Raises:
        Refused: for every file that is a link, no plain file, too large, oddly named or too deep.
    """
    found: dict[str, bytes] = {}
    findings: list[Finding] = []
    for path, entry in _entries(folder, ""):
        place = f"{told}/{path}"
        if path.split("/")[0] in without:
            continue
        if len(found) + len(findings) >= MOST:
            message = f"{told} holds more than {MOST} files."
            findings.append(_flaw("many", message, "Keep the files that differ, no others.", told))
            break
        if not _NAME.match(entry.name):
            message = f"{told} holds a file named {entry.name[:100]!r}."
            step = "Use letters, digits, _, - and points, beginning with none of the last two."
            findings.append(_flaw("name", message, step, told))
        elif path.count("/") > DEEPEST:
            message = f"{place} lies more than {DEEPEST} folders deep."
            findings.append(_flaw("deep", message, "Put it higher.", place))
        else:
            try:
                content = files.read_plain(Path(entry.path), most=LARGEST)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                message = f"{place} cannot be read: {reason}."
                step = "Put a plain file in its place."
                findings.append(_flaw("unreadable", message, step, place))
                continue
            if len(content) > LARGEST:
                message = f"{place} has more than {LARGEST} bytes."
                findings.append(_flaw("size", message, "Shorten it.", place, limit=LARGEST))
            found[path] = content
    if findings:
        raise Refused(findings)
    return found


def read_all(root: Path, worlds: Iterable[str], *, told: str) -> dict[str, bytes]:
    """Return the bytes of every file of several worlds, by world and path within.

    Args:
        root: Holds a folder for each world.
        worlds: Their names.
        told: What findings call `root`, as `world/0003`.

    Raises:
        Refused: at the first world with a file that is not to be read.
    """
    return {
        f"{world}/{path}": content
        for world in sorted(worlds)
        for path, content in read(root / world, told=f"{told}/{world}").items()
    }


def digest(contents: Mapping[str, bytes]) -> str:
    """Return one digest over files, by path and content, as a launch records it."""
    lines = [
        f"{path} {files.content_digest(contents[path])}" for path in sorted(contents, key=Path)
    ]
    return files.content_digest("\n".join(lines).encode())


def folder_digest(folder: Path) -> str:
    """Return the digest of every file below a folder that is trusted, links followed."""
    return digest(
        {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and COMPILED not in path.parts
        }
    )


def signature(folder: str) -> tuple[tuple[str, int, int, int, int], ...]:
    """Return what shows that a folder may have changed: path, inode, size and times of each file.

    The time of the last change of an inode cannot be set by whoever writes a file, so two equal
    signatures are one content for every purpose but an attack on the clock.
    """
    return tuple(
        (path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        for path, entry in _entries(folder, "")
        for found in (entry.stat(follow_symlinks=False),)
    )


def _entries(folder: Path | str, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield everything below a folder that is no folder, links included, sorted by name."""
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        path = f"{below}{entry.name}"
        if entry.name == COMPILED:
            continue
        if entry.is_dir(follow_symlinks=False) and path.count("/") <= DEEPEST:
            yield from _entries(entry.path, f"{path}/")
        else:
            yield path, entry


def _flaw(
    rule: str, message: str, next_step: str, file: str, *, limit: int | None = None
) -> Finding:
    return Finding(f"world.{rule}", Severity.ERROR, message, next_step, file=file, limit=limit)
