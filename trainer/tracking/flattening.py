"""A step's record as flat numbers, each under a name that is made from its declaration.

A map gives `FIELD/KEY`, as in `success_by_arm/symbolic`; what depends on the clock gives
`time/FIELD`; any other number gives `rollout/FIELD`. Text, what is null and what is not finite give
nothing. A field that is declared tomorrow has its name already. Nothing here knows any tracker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any
from urllib.parse import quote

from gate.contract.records import StepRecord
from trainer.looking.reading import number

STEP, WHEN = "step", "time"
"""Fields of a record that say where its numbers belong, and are none themselves."""
DEEPEST = 4
"""Maps within maps that are followed; the record that is declared has three."""


def numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of one step by name.

    Keys of maps come from worlds and reward rules: what is no letter, digit or one of `._-~` stands
    there as in a web address (`a/b` as `a%2Fb`), so no two keys meet and none makes a level.

    Args:
        record: A line of `steps.jsonl`; a field may lack or be of any type.
    """
    found: dict[str, float] = {}
    for one in fields(StepRecord):
        if one.name in (STEP, WHEN):
            continue
        value = record.get(one.name)
        if isinstance(value, Mapping):
            found.update(_within(one.name, value, DEEPEST))
        elif (known := _number(value)) is not None:
            found[f"{'time' if one.metadata['clock'] else 'rollout'}/{one.name}"] = known
    return found


def _within(name: str, values: Mapping[str, Any], deepest: int) -> Iterator[tuple[str, float]]:
    for key, value in values.items():
        inner = f"{name}/{quote(str(key), safe='')}"
        if isinstance(value, Mapping) and deepest > 1:
            yield from _within(inner, value, deepest - 1)
        elif (known := _number(value)) is not None:
            yield inner, known


def _number(value: Any) -> float | None:
    """Return a value as a finite number, a truth as 0 or 1; None for anything else."""
    return float(value) if isinstance(value, bool) else number(value)
