"""What the guard remembers of `steps.jsonl`: the newest steps, of which each line is read once.

Reading is bounded: from the end of the file at first, then only what was appended. Nothing here
knows what the numbers are for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gate.contract import files
from gate.effects import series
from gate.effects.series import Point


class StepMemory:
    """The newest steps of one run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_upto = 0
        self._oldest: int | None = None
        self._points: dict[int, Point] = {}

    @property
    def points(self) -> tuple[Point, ...]:
        """The steps that were read, oldest first."""
        return tuple(self._points[step] for step in sorted(self._points))

    def follow(self, oldest: int) -> None:
        """Read what was appended since the last call.

        Args:
            oldest: The first step that is of interest. Where it is earlier than at the last
                call, the file is read anew from its end.
        """
        size = _size(self._path)
        if self._oldest is None or oldest < self._oldest or size < self._read_upto:
            self._points = {}
            self._take(_newest(self._path, oldest))
            # A last line that is not whole yet is read again with what follows it.
            self._read_upto = size
            self._oldest = oldest
        elif size > self._read_upto:
            self._take(self._appended(size))
        for step in [step for step in self._points if step < oldest]:
            del self._points[step]

    def _take(self, records: Iterable[dict[str, Any]]) -> None:
        for record in records:
            if isinstance(record.get("step"), int):
                (point,) = series.points([record])
                self._points[point.step] = point

    def _appended(self, size: int) -> tuple[dict[str, Any], ...]:
        with open(self._path, "rb") as stream:
            stream.seek(self._read_upto)
            content = stream.read(size - self._read_upto)
        # A line that is still being written is read once it is whole.
        whole = content.rfind(b"\n") + 1
        self._read_upto += whole
        return files.parse_lines(content[:whole].split(b"\n")).records


def _newest(path: Path, oldest: int) -> list[dict[str, Any]]:
    """Read a file from its end, back to the first step of interest; oldest first."""
    found: list[dict[str, Any]] = []
    for line in files.lines_from_the_end(path):
        record, _ = files.parse_line(line)
        if record is None:
            continue
        if isinstance(record.get("step"), int) and record["step"] < oldest:
            break
        found.append(record)
    return found[::-1]


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
