"""The mark of a watched folder: which live run takes its knobs from there, so that two never do.

The mark is a file in the folder, locked by the trainer for as long as it lives: the lock falls
with the process, however that ends, and a mark without a lock is a leftover. A folder that was
moved away and put back has lost its mark; its run takes it again. Nothing here reads a knob file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import NamedTuple

from gate.contract import files

NAME = ".watched-by"
LARGEST = 1 << 13
"""Bytes of a mark that are read."""

_TRIES = 5
_PAUSE_S = 0.02


class Holder(NamedTuple):
    """A live run that watches a folder."""

    run: str
    """Its folder, links followed."""
    process: str
    """Id of its trainer's process."""

    def __str__(self) -> str:
        """Return it as a part of a sentence."""
        return f"{self.run} (process {self.process})"


class Taken(Exception):
    """A folder that another live run watches."""

    def __init__(self, folder: Path, holder: Holder) -> None:
        super().__init__(f"{folder} is watched by {holder}")
        self.holder = holder


class Mark:
    """The mark of one run in the folder that it watches."""

    def __init__(self, folder: Path, run: Path) -> None:
        """Name the place; nothing is written before `take`.

        Args:
            folder: The folder.
            run: The run's own folder.
        """
        self.folder = folder
        self._path = folder / NAME
        self._run = os.fspath(run.resolve())
        self._descriptor: int | None = None

    def take(self) -> None:
        """Mark the folder, or make sure that it is still marked, which costs two looks.

        Raises:
            Taken: if another live run watches it.
            OSError: if the folder is not there, or nothing can be written in it.
        """
        if self._descriptor is not None and _is(self._descriptor, self._path):
            return
        self._let_go()
        for attempt in range(_TRIES):
            if attempt:
                # Whoever only asks holds the lock for a moment.
                time.sleep(_PAUSE_S)
            if self._try():
                return
        raise Taken(self.folder, holder(self.folder) or Holder("another run", "unknown"))

    def release(self) -> None:
        """Take the mark away, if it is there and ours."""
        if self._descriptor is not None and _is(self._descriptor, self._path):
            with contextlib.suppress(OSError):
                self._path.unlink()
        self._let_go()

    def _try(self) -> bool:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o644)
        try:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The one before us may have taken its file away while we waited for it.
                if _is(descriptor, self._path):
                    os.ftruncate(descriptor, 0)
                    os.pwrite(descriptor, f"{self._run}\n{os.getpid()}\n".encode(), 0)
                    self._descriptor, descriptor = descriptor, None
                    return True
            return False
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _let_go(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def holder(folder: Path) -> Holder | None:
    """Return the live run that watches a folder; None if none does.

    Args:
        folder: The folder; it need not exist.
    """
    path = folder / NAME
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        told = files.read_plain(path, most=LARGEST).decode("utf-8", "replace").splitlines()
        return Holder(*told[:2]) if len(told) > 1 else Holder("another run", "unknown")
    except OSError:
        # A file system without locks cannot tell.
        return None
    finally:
        os.close(descriptor)
    return None


def _is(descriptor: int, path: Path) -> bool:
    """Return whether an open file is the one that stands at a path."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))
