"""A file of JSON lines that somebody appends to, of which each line is read once.

A line that is still being written is left until it is whole, and one that holds no record costs
nothing but itself. This module knows nothing about what the records mean.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gate.contract import files


class Growing:
    """The records of one file, in its order; a missing file has none."""

    def __init__(self, path: Path) -> None:
        """Begin before the first line.

        Args:
            path: The file, which need not be there yet.
        """
        self._path = path
        self._read_upto = 0
        self._inode: int | None = None
        self.unreadable = 0
        """Lines so far that hold no record."""

    def read(self) -> tuple[dict[str, Any], ...] | None:
        """Return the records since the last call; None if the file is another or was cut.

        After None the next call begins with the first line.
        """
        try:
            with open(self._path, "rb") as stream:
                found = os.fstat(stream.fileno())
                if self._inode not in (None, found.st_ino) or found.st_size < self._read_upto:
                    return self._begin_anew()
                self._inode = found.st_ino
                stream.seek(self._read_upto)
                content = stream.read(found.st_size - self._read_upto)
        except FileNotFoundError:
            return () if self._inode is None else self._begin_anew()
        whole = content.rfind(b"\n") + 1
        self._read_upto += whole
        lines = files.parse_lines(content[:whole].split(b"\n"))
        self.unreadable += lines.torn
        return lines.records

    def _begin_anew(self) -> None:
        self._read_upto, self._inode, self.unreadable = 0, None, 0
