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
BUILT_IN = sources.own_files(FOLDER)
GYM = Gym("function", "FunctionGym", "functions.json", "data/function_multiturn")
OPENING = "I have a rule of four numbers in mind. You may begin."

_KEYS = ("id", "rule", "test_case", "expected_result")
_SCHEMA = f"{', '.join(_KEYS)}: a formula of a, b, c, d, four whole numbers and its value there"
_CLOSE = 1e-6


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split, ours or FunctionGym's; see `userrl.load`."""
    return userrl.load(GYM, split, source, task, own=BUILT_IN, schema=_SCHEMA)


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
