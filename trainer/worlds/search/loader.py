"""Reads search tasks, our own or SearchGym's (Bamboogle), into `Task` values.

Ours carry the documents in which the answer is found. Bamboogle's questions ask the whole web,
and nothing here has a network: their searches find nothing and say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainer.task import Task
from trainer.worlds import source as sources
from trainer.worlds import task_records, userrl
from trainer.worlds.source import SourceError
from trainer.worlds.userrl import Gym

FOLDER = Path(__file__).parent
BUILT_IN = sources.own_files(FOLDER)
GYM = Gym("search", "SearchGym", "questions.json", "data/bamboogle_multiturn")

_KEYS = ("id", "question", "answer", "aliases", "documents", "hops")
_SCHEMA = "id, question and answer; ours also documents with title and text, and hops"


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split, in file order.

    Args:
        split: `train` or `evaluation`.
        source: None for our own tasks; else the root of a clone of UserRL, the folder that holds
            `questions.json`, or such a file. Its questions are all for evaluation.

    Raises:
        SourceError: if no file is found (all tried paths are listed), a record is unusable, or
            training tasks are asked of a source.
    """
    if source is None:
        return task_records.load(BUILT_IN[split], task, schema=_SCHEMA)
    path = userrl.locate(GYM, source)
    if split != "evaluation":
        raise SourceError(f"{path}: its questions are for evaluation; train on the built-in ones")
    records = userrl.listed(sources.read_json(path), path)
    provenance = f"{GYM.name} {path} (whole file, no documents)"
    return task_records.build(records, path, task, provenance=provenance, schema=_SCHEMA)


def task(record: Mapping[str, Any], provenance: str = "built-in") -> Task:
    """Return the task that one record describes.

    Raises:
        KeyError: if the record lacks a field of the schema.
    """
    return Task(
        id=record["id"],
        world="search",
        goal="Have the agent answer a question from documents.",
        opening=record["question"],
        payload={
            "answers": [record["answer"], *record.get("aliases", ())],
            "documents": [
                {"title": document["title"], "text": document["text"]}
                for document in record.get("documents", ())
            ],
            "hops": list(record.get("hops", ())),
        },
        provenance=provenance,
        extra=sources.unknown(record, _KEYS),
    )
