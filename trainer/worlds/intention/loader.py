"""Reads intention tasks, our own or the IN3 files of UserRL, into `Task` values.

Both have one schema; ours adds to each detail a `statement`, the sentence with which the user
gives it away. IN3 has only options, so a digest of the task's id chooses one of them: the same
task always has the same answers. Nothing here plays a task, and nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainer.task import Fact, Task
from trainer.worlds import source as sources
from trainer.worlds.source import SourceError

FOLDER = Path(__file__).parent
BUILT_IN = sources.own_files(FOLDER)

IMPORTANCES = (1, 2, 3)

_FILE_OF_SPLIT = {"train": "train", "evaluation": "test"}
_DATA_FOLDER = Path("gyms") / "IntentionGym" / "intentiongym" / "data"
_IDS_FOLDER = Path("data") / "intention_multiturn"
_TASK_KEYS = ("id", "category", "task", "missing_details")
_DETAIL_KEYS = ("description", "importance", "inquiry", "options", "statement")
_WORD = re.compile(r"[\w'-]+")
_SMALL_WORDS = frozenset(
    "a an and any are as at be by can could do does for from have how i in is it like me must of "
    "on or please prefer should some specific tell that the there this to want what which who "
    "will with would you your".split()
)

_log = logging.getLogger(__name__)


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split, in file order.

    Args:
        split: `train` or `evaluation`.
        source: None for our own tasks; else the root of a clone of UserRL, the folder that holds
            `all_intentions_{train,test}.json`, or one such file. Where a clone lists the ids of
            its own split and `pyarrow` is installed, only those are kept.

    Raises:
        SourceError: if no file is found (all tried paths are listed) or a record is unusable.
    """
    if source is None:
        path = BUILT_IN[split]
        return _tasks(path, sources.read_lines(path), "built-in")
    name = f"all_intentions_{_FILE_OF_SPLIT[split]}.json"
    candidates = [source] if source.is_file() else [source / name, source / _DATA_FOLDER / name]
    path = sources.first_existing(candidates, "intention")
    records = sources.read_json(path)
    if not isinstance(records, list):
        raise SourceError(f"{path}: must be a list of tasks, found {type(records).__name__}")
    listed = _listed_ids(source / _IDS_FOLDER / f"{_FILE_OF_SPLIT[split]}.parquet")
    if listed is None:
        return _tasks(path, records, f"IN3 {path} (whole file)")
    chosen = [record for record in records if record.get("id") in listed]
    return _tasks(path, chosen, f"IN3 {path} (ids of the split)")


def task(record: Mapping[str, Any], provenance: str = "built-in") -> Task:
    """Return the task that one record describes.

    Raises:
        KeyError: if the record lacks a field of the schema.
        ValueError: if it misses no detail, or one has an importance other than 1, 2 or 3.
    """
    entries = record["missing_details"]
    if not entries:
        raise ValueError("`missing_details` is empty, so there is nothing to find out")
    details = [
        {
            "id": f"D{number}",
            "description": entry["description"],
            "importance": _importance(entry["importance"]),
            "inquiry": entry["inquiry"],
            "options": list(entry["options"]),
        }
        for number, entry in enumerate(entries, start=1)
    ]
    extra = sources.unknown(record, _TASK_KEYS)
    for detail, entry in zip(details, entries, strict=True):
        left = sources.unknown(entry, _DETAIL_KEYS)
        if left:
            extra[detail["id"]] = left
    return Task(
        id=record["id"],
        world="intention",
        goal=f"Get help with this, though the request leaves details open: {record['task']}",
        opening=record["task"],
        facts=tuple(
            _fact(record["id"], detail, entry.get("statement"))
            for detail, entry in zip(details, entries, strict=True)
        ),
        payload={"category": record["category"], "missing_details": details},
        provenance=provenance,
        extra=extra,
    )


def _tasks(path: Path, records: Sequence[Mapping[str, Any]], provenance: str) -> tuple[Task, ...]:
    tasks = []
    for index, record in enumerate(records):
        try:
            tasks.append(task(record, provenance))
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(
                f"{path}: task {index} does not have IN3's schema ({error!r}); it needs "
                f"{', '.join(_TASK_KEYS)}, and each detail {', '.join(_DETAIL_KEYS[:4])}"
            ) from error
    extra = {key for entry in tasks for key in entry.extra if key != "canary"}
    sources.report_unknown(extra, path)
    return tuple(tasks)


def _importance(value: Any) -> int:
    importance = int(value)
    if importance not in IMPORTANCES:
        raise ValueError(f"importance is {value!r}; it must be 1, 2 or 3")
    return importance


def _fact(task_id: str, detail: Mapping[str, Any], statement: str | None) -> Fact:
    """Return a detail as what the user holds back; its secret is what is missing, by name."""
    asks = (detail["description"], detail["inquiry"])
    return Fact(
        id=detail["id"],
        kind=f"detail.{detail['importance']}",
        text=detail["description"],
        statement=statement or _statement(task_id, detail),
        cues=tuple(dict.fromkeys(filter(None, map(_content_words, asks)))),
        weight=float(detail["importance"]),
    )


def _statement(task_id: str, detail: Mapping[str, Any]) -> str:
    options = detail["options"]
    if not options:
        raise ValueError(f"detail {detail['description']!r} has neither options nor a statement")
    digest = hashlib.sha256(f"{task_id}/{detail['id']}".encode()).digest()
    chosen = str(options[int.from_bytes(digest[:4], "big") % len(options)])
    return f"Let us say: {chosen.rstrip('.')}."


def _content_words(text: str) -> str:
    words = (word for word in _WORD.findall(text.lower()) if word not in _SMALL_WORDS)
    return " ".join(dict.fromkeys(words))


def _listed_ids(path: Path) -> frozenset[str] | None:
    """Return the ids of a split as the clone lists them, or None where that cannot be read."""
    if not path.is_file():
        return None
    if importlib.util.find_spec("pyarrow") is None:
        _log.warning("%s: not read, pyarrow is not installed; all tasks of the file count", path)
        return None
    from pyarrow import parquet  # pyright: ignore[reportMissingImports] - optional

    rows = parquet.read_table(path, columns=["reward_model"]).to_pylist()
    return frozenset(row["reward_model"]["id"] for row in rows)
