"""Reads function tasks, our own or FunctionGym's, into `Task` values; both have one schema."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainer.task import Task
from trainer.worlds import source as sources
from trainer.worlds import userrl
from trainer.worlds.function.formula import evaluate
from trainer.worlds.userrl import Gym

FOLDER = Path(__file__).parent
BUILT_IN = {
    "train": FOLDER / "tasks" / "train.jsonl",
    "evaluation": FOLDER / "evaluation" / "tasks.jsonl",
}
GYM = Gym(
    "function", "gyms/FunctionGym/functiongym/data", "functions.json", "data/function_multiturn"
)
OPENING = "I have a rule of four numbers in mind. You may begin."

_KEYS = ("id", "rule", "test_case", "expected_result")
_SCHEMA = f"{', '.join(_KEYS)}: a formula of a, b, c, d, four whole numbers and its value there"
_CLOSE = 1e-6


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split, in file order.

    Args:
        split: `train` or `evaluation`.
        source: None for our own tasks; else the root of a clone of UserRL, the folder that holds
            `functions.json`, or such a file.

    Raises:
        SourceError: if no file is found (all tried paths are listed) or a record is unusable.
    """
    if source is None:
        path = BUILT_IN[split]
        records = sources.read_lines(path)
        return userrl.build(records, path, task, provenance="built-in", schema=_SCHEMA)
    path = userrl.locate(GYM, source)
    chosen = userrl.split(GYM, split, source)
    records = [
        record
        for record in userrl.listed(sources.read_json(path), path)
        if chosen.holds(str(record.get("id")))
    ]
    provenance = f"FunctionGym {path} ({chosen.how})"
    return userrl.build(records, path, task, provenance=provenance, schema=_SCHEMA)


def task(record: Mapping[str, Any], provenance: str = "built-in") -> Task:
    """Return the task that one record describes.

    Raises:
        KeyError: if the record lacks a field of the schema.
        ValueError: if the rule is no formula or does not have the expected value.
    """
    numbers = list(record["test_case"])
    value, expected = evaluate(record["rule"], numbers), float(record["expected_result"])
    if abs(value - expected) > _CLOSE:
        raise ValueError(f"the rule gives {value} at {numbers}, the record says {expected}")
    return Task(
        id=record["id"],
        world="function",
        goal="Have the agent find the value of a hidden rule.",
        opening=OPENING,
        payload={"rule": record["rule"], "test_case": numbers, "expected_result": expected},
        provenance=provenance,
        extra=sources.unknown(record, _KEYS),
    )
