"""Reads colbench tasks, our own or the benchmark's backend files, into `Task` values.

Both are JSON Lines of one schema; ours adds facts and the reference's outputs. Real files may
hold annotations of megabytes beside a task, so they are read line by line and such keys are
counted, not kept. Nothing here runs code, and nothing is downloaded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trainer.task import Fact, Task
from trainer.worlds import source as sources
from trainer.worlds.colbench import derived
from trainer.worlds.source import SourceError

FOLDER = Path(__file__).parent
BUILT_IN = sources.own_files(FOLDER)
MAX_LINE_BYTES = 64 << 20
MAX_EXTRA_CHARS = 2_000
"""Longest unknown entry, as JSON, that a task keeps."""

_REAL_FILES = {
    "train": ("backend_tasks/train.jsonl", "train.jsonl"),
    "evaluation": ("backend_tasks/test.jsonl", "backend_test.jsonl"),
}
_KEYS = ("id", "problem_description", "ground_truth", "test_cases", "facts", "outputs")
_REPEATED = "hidden_information"
"""Key under which one published copy repeats the reference."""


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split, in file order.

    Args:
        split: `train` or `evaluation`.
        source: None for our own tasks; else a `.jsonl` file of the benchmark, or the folder that
            holds `backend_tasks/{train,test}.jsonl` or `backend_test.jsonl`.

    Raises:
        SourceError: if no file is found (all tried paths are listed) or a record is unusable.
    """
    if source is None:
        path, provenance = BUILT_IN[split], "built-in"
    else:
        candidates = [source / name for name in _REAL_FILES[split]]
        path = source if source.is_file() else sources.first_existing(candidates, "colbench")
        provenance = f"ColBench {path}"
    tasks, unknown = [], set[str]()
    for index, record in enumerate(_records(path)):
        try:
            tasks.append(task(record, index, provenance))
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(
                f"{path}: task {index} does not have ColBench's schema ({error!r}); it needs "
                "problem_description, ground_truth and test_cases"
            ) from error
        unknown |= record.keys() - {*_KEYS, _REPEATED, "canary"}
    sources.report_unknown(unknown, path)
    return tuple(tasks)


def task(record: Mapping[str, Any], index: int = 0, provenance: str = "built-in") -> Task:
    """Return the task that one record describes.

    Args:
        record: The record; unknown entries that are short are kept in `extra`.
        index: Its position in the file, which names it where it has no `id`.
        provenance: See `Task.provenance`.

    Raises:
        KeyError: if the record lacks a field of the schema.
        ValueError: if it has no test call, or a field is no text.
    """
    description = _text(record, "problem_description")
    # Of a record with both, the two are the same.
    reference = _text(record, "ground_truth" if "ground_truth" in record else _REPEATED)
    payload: dict[str, Any] = {"reference": reference, "calls": _calls(record["test_cases"])}
    if "outputs" in record:
        payload["outputs"] = list(record["outputs"])
    extra = sources.unknown(record, (*_KEYS, _REPEATED))
    return Task(
        id=record.get("id", f"colbench-real-{index:05d}"),
        world="colbench",
        goal=f"Get this function, by telling what you alone know about it: {description}",
        opening=description,
        facts=_facts(record["facts"]) if "facts" in record else derived.facts(reference),
        payload=payload,
        provenance=provenance,
        extra={key: value for key, value in extra.items() if _is_short(value)},
    )


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file, one line in memory at a time."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES):
                number += 1
                if len(line) == MAX_LINE_BYTES:
                    raise SourceError(f"{path}:{number}: over {MAX_LINE_BYTES} bytes; split it up")
                if line.strip():
                    yield _record(line, path, number)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror})") from error


def _record(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}:{number}: not JSON: {error}; mend that line") from error
    if not isinstance(record, dict):
        raise SourceError(f"{path}:{number}: a task is an object, found {line[:40]!r}")
    return record


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"`{key}` is {str(value)[:40]!r}; it must be text")
    return value


def _calls(cases: Any) -> list[str]:
    calls = list(cases.values()) if isinstance(cases, Mapping) else list(cases)
    if not calls or not all(isinstance(call, str) for call in calls):
        raise ValueError("`test_cases` must hold at least one call, each as text")
    return calls


def _facts(entries: list[Mapping[str, Any]]) -> tuple[Fact, ...]:
    return tuple(
        Fact(f"F{number}", entry["kind"], entry["text"], entry["statement"], tuple(entry["cues"]))
        for number, entry in enumerate(entries, start=1)
    )


def _is_short(value: Any) -> bool:
    return len(json.dumps(value)) <= MAX_EXTRA_CHARS
