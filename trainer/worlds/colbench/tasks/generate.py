"""Makes our own colbench tasks, families and small tier alike, and checks them in the sandbox.

    python -m trainer.worlds.colbench.tasks.generate

writes `tasks/train.jsonl` and `evaluation/tasks.jsonl` under the world's folder, or with
`--out DIR` under another. A task is written only if its reference runs on all of its calls, gives
the same outputs under both scorings, never None, and tells enough cases apart.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from trainer.worlds import task_files
from trainer.worlds.colbench.tasks import content_prices, content_records, small
from trainer.worlds.colbench.tasks.family import KINDS, NUM_CALLS
from trainer.worlds.sandbox import client, values
from trainer.worlds.sandbox.program import Namespace, Outcome, Program
from trainer.worlds.source import own_files

CANARY = "EAU-EVALUATION-COLBENCH-0c6e52d9-3b7a-4f18-a2d4-91e85b60c7f3"
"""Stands in every evaluation record and nowhere else, so that a leak can be searched for."""

FOLDER = Path(__file__).parents[1]
FAMILIES = content_prices.FAMILIES + content_records.FAMILIES
MIN_DISTINCT = 4
"""Fewest different outputs that the calls of one task must have."""


class UnsoundTaskError(ValueError):
    """A task that must not be shipped; the message says which, and what is wrong with it."""


def make_tasks() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the records for training and for evaluation.

    Raises:
        UnsoundTaskError: if a task does not keep what the module's text says.
        SandboxError: if the references cannot be run.
    """
    train: list[dict[str, Any]] = []
    evaluation: list[dict[str, Any]] = []
    for family in FAMILIES:
        *seen, held_out = family.records()
        train += map(checked, seen)
        evaluation.append({**checked(held_out), "canary": CANARY})
    train += map(checked, small.make_records("train"))
    evaluation += [{**checked(one), "canary": CANARY} for one in small.make_records("evaluation")]
    return train, evaluation


def checked(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with its reference's outputs.

    Raises:
        UnsoundTaskError: if it must not be shipped.
    """
    calls = tuple(record["test_cases"].values())
    if len(calls) != NUM_CALLS:
        raise _unsound(record, f"has {len(calls)} calls; write {NUM_CALLS}")
    for fact in record["facts"]:
        if fact["kind"] not in KINDS:
            raise _unsound(record, f"has a fact of kind {fact['kind']!r}; use {', '.join(KINDS)}")
        if fact["text"] in fact["statement"]:
            raise _unsound(record, f"says {fact['text']!r} in the secret's own words")
    fresh, strict = (
        _outputs(record, Program(record["ground_truth"], calls, namespace))
        for namespace in Namespace
    )
    if fresh != strict:
        raise _unsound(record, "has a reference that differs under strict scoring; simplify it")
    if len(set(fresh)) < MIN_DISTINCT:
        raise _unsound(record, f"has {len(set(fresh))} different outputs; vary its calls")
    return {**record, "outputs": fresh}


def _outputs(record: dict[str, Any], program: Program) -> list[str]:
    results = client.shared().evaluate(program).results
    for call, result in zip(program.calls, results, strict=True):
        if result.outcome is not Outcome.VALUE or result.value is None:
            raise _unsound(record, f"gives {result} for {call}")
    return [values.encode(result.value) for result in results]


def _unsound(record: dict[str, Any], what: str) -> UnsoundTaskError:
    return UnsoundTaskError(f"task {record['id']} {what}")


def main() -> None:
    """Write both files; see the module's text."""
    parser = argparse.ArgumentParser(description="Make the colbench world's own tasks.")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write under")
    chosen = parser.parse_args()
    for path, records in zip(own_files(chosen.out).values(), make_tasks(), strict=True):
        task_files.write(path, records)
        print(f"{path}: {len(records)} tasks")


if __name__ == "__main__":
    main()
