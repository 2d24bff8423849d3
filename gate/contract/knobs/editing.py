"""A program's edit of a knob file: only what was asked for changes, byte by byte."""

from __future__ import annotations

from collections.abc import Sequence

from gate.contract.knobs.values import KnobChange


def edit(file: str, content: bytes, changes: Sequence[KnobChange]) -> bytes:
    """Return the file's content after some changes."""
    raise NotImplementedError
