"""Reads task records from files, ours or a user's own, and says where they came from.

A missing file is told with every path that was tried; a record that is not JSON with its line.
Nothing is downloaded. This module knows nothing about any world's schema.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

BUILT_IN = "built-in"
"""Provenance of tasks of our own."""

_log = logging.getLogger(__name__)


class SourceError(ValueError):
    """Task data that cannot be used; the message names the path and what to do."""


def own_files(folder: Path) -> dict[str, Path]:
    """Return the file of each split in which a world's folder keeps tasks of our own."""
    return {
        "train": folder / "tasks" / "train.jsonl",
        "evaluation": folder / "evaluation" / "tasks.jsonl",
    }


def first_existing(candidates: Sequence[Path], what: str) -> Path:
    """Return the first path that exists.

    Raises:
        SourceError: if none does; the message lists all of them.
    """
    for path in candidates:
        if path.exists():
            return path
    tried = "\n".join(f"  {path}" for path in candidates)
    raise SourceError(f"{what}: no file at any of these paths; check the source path:\n{tried}")


def read_json(path: Path) -> Any:
    """Return the value of a JSON file."""
    text = _text(path)
    try:
        return json.loads(text)
    except ValueError as error:
        raise SourceError(f"{path}: not JSON: {error}; mend or replace the file") from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return one object per non-empty line of a JSON Lines file."""
    records = []
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise SourceError(f"{path}:{number}: not JSON: {error}; mend that line") from error
        if not isinstance(record, dict):
            raise SourceError(f"{path}:{number}: a task is an object, found {line[:40]!r}")
        records.append(record)
    return records


def report_unknown(keys: Iterable[str], path: Path) -> None:
    """Say once for a file which keys no loader reads; the tasks keep them in `extra`."""
    names = sorted(set(keys))
    if names:
        _log.warning("%s: keys kept in `extra` and not read: %s", path, ", ".join(names))


def unknown(record: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Return the entries of a record that the schema does not name."""
    return {key: record[key] for key in record.keys() - set(known)}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: byte {error.start} is not UTF-8; save it as UTF-8") from error
