"""Reads travel tasks, our own or TravelGym's, into `Task` values.

Both have one schema: by aspect the preferences, the options and which of them is right. Each
preference becomes a fact P1, P2, ... in the order of the aspects. Real data come from a path: the
root of a clone of UserRL, or a folder or file of TravelGym's JSON. Nothing here plays a task.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trainer.task import Fact, Task
from trainer.worlds import source as sources
from trainer.worlds.source import SourceError
from trainer.worlds.travel.content import TOPICS

FOLDER = Path(__file__).parent
BUILT_IN = sources.own_files(FOLDER)

BUDGET = "My budget is limited: please choose the cheapest option that meets my wishes."
"""Follows the description in the first message, as in TravelGym."""

_TASK_KEYS = ("id", "scenario", "dimensions", "wanted_num", "initial_description", "set", "tier")
_ASPECT_KEYS = ("preferences", "options", "correct_ids", "best_id", "arguments")
_EVALUATION_SHARE = 6
_WORD = re.compile(r"[a-z0-9]+")


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split, in file order.

    Args:
        split: `train` or `evaluation`.
        source: None for our own tasks, else where TravelGym's files are. Those name no split:
            a digest of the task's id gives one task in six to evaluation, and the provenance
            says so.

    Raises:
        SourceError: if no file is found (all tried paths are listed) or a record is unusable.
    """
    if source is None:
        path = BUILT_IN[split]
        return _tasks(path, sources.read_lines(path), "built-in")
    tasks: list[Task] = []
    for path in _files(source):
        records = _keyed(sources.read_json(path), path)
        chosen = [record for record in records if _hash_split(record["id"]) == split]
        tasks += _tasks(path, chosen, f"TravelGym {path} (split by digest of the id)")
    return tuple(tasks)


def task(record: Mapping[str, Any], provenance: str = "built-in") -> Task:
    """Return the task that one record describes.

    Raises:
        KeyError: if the record lacks a field of the schema.
    """
    aspects = list(record["dimensions"])
    facts: list[Fact] = []
    for aspect in aspects:
        for _, topic, text, statement, *_ in record[aspect]["preferences"]:
            facts.append(_fact(f"P{len(facts) + 1}", aspect, topic, text, statement))
    known = (*_TASK_KEYS, *aspects)
    names = " and ".join(aspect.replace("_", " ") for aspect in aspects)
    return Task(
        id=record["id"],
        world="travel",
        goal=f"Find the cheapest {names} that suit me, for {record['scenario']}",
        opening=f"{record['initial_description']} {BUDGET}",
        facts=tuple(facts),
        payload={key: record[key] for key in known if key in record},
        provenance=provenance,
        extra=sources.unknown(record, known),
    )


def _tasks(path: Path, records: Iterable[Mapping[str, Any]], provenance: str) -> tuple[Task, ...]:
    tasks = []
    for record in records:
        try:
            tasks.append(task(record, provenance))
        except (KeyError, TypeError, ValueError) as error:
            name = record.get("id", "?")
            raise SourceError(
                f"{path}: task {name!r} does not have TravelGym's schema ({error!r}); an aspect "
                f"needs {', '.join(_ASPECT_KEYS)}"
            ) from error
    extra = {key for entry in tasks for key in entry.extra if key != "canary"}
    sources.report_unknown(extra, path)
    return tuple(tasks)


def _fact(name: str, aspect: str, topic: str, text: str, statement: str) -> Fact:
    words = aspect.replace("_", " ")
    known = TOPICS.get(aspect, {}).get(topic)
    cues = known.cues if known else tuple(_WORD.findall(topic.lower()))
    return Fact(
        id=name,
        kind=f"{aspect}.{topic}",
        text=text,
        statement=statement,
        cues=tuple(dict.fromkeys((f"{words} {topic}".replace("_", " "), topic, *cues))),
    )


def _files(source: Path) -> list[Path]:
    """Return TravelGym's files under a path; parquet alone does not hold the tasks."""
    if source.is_file():
        return [source]
    folders = [source, source / "gyms" / "TravelGym" / "travelgym" / "data"]
    for folder in folders:
        files = sorted(folder.glob("travelgym_data_*.json"))
        if files:
            return files
    raise SourceError(
        "travel: no file matches any of these patterns (the parquet files hold neither "
        "preferences nor options):\n"
        + "\n".join(f"  {folder / 'travelgym_data_*.json'}" for folder in folders)
    )


def _keyed(content: Any, path: Path) -> list[dict[str, Any]]:
    if not isinstance(content, dict):
        raise SourceError(f"{path}: must be an object from task id to task")
    return [{**record, "id": key} for key, record in content.items()]


def _hash_split(task_id: str) -> str:
    digest = hashlib.sha256(task_id.encode()).digest()
    return "evaluation" if digest[0] % _EVALUATION_SHARE == 0 else "train"
