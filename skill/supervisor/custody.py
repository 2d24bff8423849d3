"""Custody: what nobody but its owner may write, remembered before a tick and compared after.

Three ways to remember: whole contents of what never changes in a tick, the beginning of files that
only grow, and the marks (size, times, inode) of what is too large to keep. What differs is put back
where its content is known; what was found is kept beside the tick. Nothing here knows who wrote.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gate.contract import files

MOST_KEPT = 64 << 20
"""Bytes of one file that are remembered; of a larger one only the marks."""

SKIPPED = frozenset({"__pycache__", ".pytest_cache", ".hypothesis", ".ruff_cache"})


Follows = Callable[[bytes, bytes], bool]
"""Whether a line may come right after another in a file that grows."""


class Marks(NamedTuple):
    """What changes with every write; times by the system's own clock cannot be set back."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int


@dataclass(frozen=True)
class Breach:
    """One thing that was written by somebody whose it was not."""

    path: str
    what: str
    """changed, removed, added, cut, or leads out."""
    put_back: bool
    """Whether it is again as it was."""

    def __str__(self) -> str:
        """Return it as a sentence."""
        done = "put back" if self.put_back else "NOT put back"
        return f"{self.path}: {self.what}; {done}"


@dataclass
class Custody:
    """Everything that is remembered for one tick."""

    whole: dict[Path, tuple[Marks, bytes | None]] = field(
        default_factory=dict[Path, tuple[Marks, bytes | None]]
    )
    links: dict[Path, str] = field(default_factory=dict[Path, str])
    closed: list[Path] = field(default_factory=list[Path])
    """Folders to which nothing may be added."""
    growing: dict[Path, tuple[Marks, bytes | None, Follows]] = field(
        default_factory=dict[Path, tuple[Marks, bytes | None, Follows]]
    )
    marked: dict[Path, Marks] = field(default_factory=dict[Path, Marks])
    passed_over: frozenset[Path] = frozenset()
    """Files, links followed, that others may write at any time wherever they lie."""

    def keep_folder(self, folder: Path, *, closed: bool) -> None:
        """Remember every file below a folder.

        Args:
            folder: A folder or a file; a missing one holds nothing.
            closed: True where nothing may be added either.
        """
        for path in _files(folder):
            if self._passes_over(path):
                continue
            if path.is_symlink():
                self.links[path] = os.readlink(path)
            elif (marks := _marks(path)) is not None:
                self.whole[path] = (marks, _content(path, marks))
        if closed and folder.is_dir():
            self.closed.append(folder)

    def keep_growing(self, path: Path, follows: Follows) -> None:
        """Remember the beginning of a file that its owner appends to.

        Args:
            path: The file.
            follows: Which lines its owner may have appended in spite of what befell it.
        """
        if (marks := _marks(path)) is not None:
            self.growing[path] = (marks, _content(path, marks), follows)

    def keep_marks(self, paths: Iterable[Path]) -> None:
        """Remember only whether files are touched, as for what is too large to keep."""
        self.marked |= {path: marks for path in paths if (marks := _marks(path)) is not None}

    def restore(self, keeping: Path | None) -> list[Breach]:
        """Compare, put back what differs and return it.

        Args:
            keeping: A folder for what was found in the place of what was put back; None to
                compare and leave everything as it is.
        """
        found = [*self._whole(keeping), *self._links(keeping), *self._added(keeping)]
        return [*found, *self._growing(keeping), *self._marked()]

    def _whole(self, keeping: Path | None) -> Iterator[Breach]:
        for path, (before, content) in self.whole.items():
            now = _marks(path)
            if now == before:
                continue
            same = now is not None and content is not None and _content(path, now) == content
            if same and now is not None and now.mode == before.mode:
                continue  # touched, or written with the same bytes
            what = "removed" if now is None else "changed"
            yield Breach(os.fspath(path), what, _put_back(path, content, before.mode, keeping))

    def _links(self, keeping: Path | None) -> Iterator[Breach]:
        for path, target in self.links.items():
            if path.is_symlink() and os.readlink(path) == target:
                continue
            if keeping is not None:
                with contextlib.suppress(OSError):
                    _set_aside(path, keeping)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    os.symlink(target, path)
            good = path.is_symlink() and os.readlink(path) == target
            yield Breach(os.fspath(path), "changed", good)

    def _added(self, keeping: Path | None) -> Iterator[Breach]:
        for folder in self.closed:
            for path in _files(folder):
                known = path in self.whole or path in self.links
                if not known and not self._passes_over(path):
                    if keeping is not None:
                        with contextlib.suppress(OSError):
                            _set_aside(path, keeping)
                    yield Breach(os.fspath(path), "added", not os.path.lexists(path))

    def _passes_over(self, path: Path) -> bool:
        return bool(self.passed_over) and path.parent.resolve() / path.name in self.passed_over

    def _growing(self, keeping: Path | None) -> Iterator[Breach]:
        for path, (before, content, follows) in self.growing.items():
            now = _marks(path)
            if content is None:
                if now is None or now.size < before.size:
                    yield Breach(os.fspath(path), "cut", False)
                continue
            current = _content(path, now) if now is not None else b""
            if current is None or current.startswith(content):
                continue
            what = "removed" if now is None else "cut" if len(current) < len(content) else "changed"
            mended = content + _appended(content, current, follows)
            yield Breach(os.fspath(path), what, _put_back(path, mended, before.mode, keeping))

    def _marked(self) -> Iterator[Breach]:
        for path, before in self.marked.items():
            now = _marks(path)
            # What its owner removed, as old checkpoints are, is gone for a reason.
            if now is not None and now != before:
                yield Breach(os.fspath(path), "changed", False)


def links_out(folder: Path, *, keeping: Path) -> Iterator[Breach]:
    """Set links aside that lead out of a folder which others may write; yield each.

    Args:
        folder: The folder.
        keeping: Where they are kept.
    """
    home = folder.resolve()
    for path in [*_files(folder), *_folders(folder)]:
        if path.is_symlink() and not path.resolve().is_relative_to(home):
            with contextlib.suppress(OSError):
                _set_aside(path, keeping)
            yield Breach(os.fspath(path), "leads out", not os.path.lexists(path))


def _appended(before: bytes, now: bytes, follows: Follows) -> bytes:
    """Return the whole lines of a file that were not in it before and follow from what was."""
    old = before.split(b"\n")[:-1]
    known = set(old)
    last = old[-1] if old else b""
    new: list[bytes] = []
    for line in now.split(b"\n")[:-1]:
        if line not in known and files.parse_line(line)[0] is not None and follows(last, line):
            new.append(line)
            last = line
    return b"".join(line + b"\n" for line in new)


def _put_back(path: Path, content: bytes | None, mode: int, keeping: Path | None) -> bool:
    if content is None or keeping is None:
        return False
    try:
        _set_aside(path, keeping)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(path, content)
        os.chmod(path, mode)
    except OSError:
        return False
    return True


def _set_aside(path: Path, keeping: Path) -> None:
    """Move what stands at a path into a folder; nothing is ever lost by putting back."""
    if not os.path.lexists(path):
        return
    keeping.mkdir(parents=True, exist_ok=True)
    number = len(os.listdir(keeping))
    target = keeping / f"{number:03d}-{path.name}"
    try:
        os.rename(path, target)
    except OSError:
        # Another file system: what was found is told by its name alone.
        path.unlink()


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_symlink() or folder.is_file():
        yield folder
        return
    for place, subfolders, names in os.walk(folder):
        subfolders[:] = [name for name in subfolders if name not in SKIPPED]
        links = [name for name in subfolders if Path(place, name).is_symlink()]
        # A temporary neighbour of a file that is being replaced is its writer's own matter.
        yield from (Path(place, name) for name in (*names, *links) if not name.endswith(".tmp"))


def _folders(folder: Path) -> Iterator[Path]:
    for place, subfolders, _ in os.walk(folder):
        yield from (Path(place, name) for name in subfolders)


def _marks(path: Path) -> Marks | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    size = found.st_size if stat.S_ISREG(found.st_mode) else -1
    times = (found.st_mtime_ns, found.st_ctime_ns)
    return Marks(size, *times, found.st_ino, stat.S_IMODE(found.st_mode))


def _content(path: Path, marks: Marks) -> bytes | None:
    if not 0 <= marks.size <= MOST_KEPT:
        return None
    try:
        return files.read_plain(path, most=MOST_KEPT)
    except OSError:
        return None
