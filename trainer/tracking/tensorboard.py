"""TensorBoard: event files under the run's own folder, one more for each follower.

A follower that goes on begins its file with a mark which tells TensorBoard to forget rows of older
files from that step on, so a row that was written twice is shown once. Numbers are TensorBoard's
floats of 32 bits. Nothing leaves the machine.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from trainer.tracking.tracker import About, Row

ABOUT = "about"
"""The tag of what tells runs apart."""


class TensorBoard:
    """Event files that TensorBoard reads."""

    replaces = True

    def __init__(self, about: About, folder: Path, after: int) -> None:
        """Begin an event file.

        Args:
            about: The run.
            folder: Where event files go.
            after: The last step that is known to be written; 0 for none.
        """
        events, summaries = _part("compat.proto.event_pb2"), _part("compat.proto.summary_pb2")
        self._event, self._summary = events.Event, summaries.Summary
        self._tensor = _part("compat.proto.tensor_pb2").TensorProto
        self._string = _part("compat.proto.types_pb2").DT_STRING
        self._text = _part("plugins.text.metadata").create_summary_metadata("", "")
        self._writer = _part("summary.writer.event_file_writer").EventFileWriter(str(folder))
        first = after + 1 if after else 0
        start = events.SessionLog(status=events.SessionLog.START)
        self._writer.add_event(self._event(wall_time=time.time(), step=first, session_log=start))
        if not after:
            told = [f"{name}: {value}" for name, value in about.facts.items()]
            self._add(0, None, [self._words(ABOUT, [f"run: {about.run}", *told])])

    def write(self, row: Row) -> None:
        """Take one row."""
        values = [
            self._summary.Value(tag=name, simple_value=value) for name, value in row.numbers.items()
        ]
        if row.marks:
            values.append(self._words(row.marks_name, row.marks))
        self._add(row.step, row.time, values)

    def flush(self) -> None:
        """Bring the rows to the event file."""
        self._writer.flush()

    def close(self) -> None:
        """Close the event file."""
        self._writer.close()

    def _words(self, tag: str, lines: Sequence[str]) -> Any:
        """Return text as TensorBoard shows it as it is: it renders Markdown, so it is indented."""
        text = "\n".join(f"    {line}" for line in lines).encode()
        tensor = self._tensor(dtype=self._string, string_val=[text])
        return self._summary.Value(tag=tag, metadata=self._text, tensor=tensor)

    def _add(self, step: int, when: float | None, values: Sequence[Any]) -> None:
        known = time.time() if when is None else when
        summary = self._summary(value=values)
        self._writer.add_event(self._event(wall_time=known, step=step, summary=summary))


def look(folder: Path, environment: Mapping[str, str]) -> str:
    """Return the command that shows a run."""
    del environment
    return f"tensorboard --logdir {quote(str(folder))}"


def _part(name: str) -> Any:
    return importlib.import_module(f"tensorboard.{name}")
