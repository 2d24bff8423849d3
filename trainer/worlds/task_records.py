"""Turns records of a file into tasks, by a world's own function; what is wrong names its record.

Where records lie and which of them belong to a split is `source`'s and `userrl`'s matter. No
world's schema is known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from trainer.task import Task
from trainer.worlds import source as sources
from trainer.worlds.source import SourceError

Make = Callable[[Mapping[str, Any], str], Task]
"""Builds a task from a record and its provenance.

It raises AttributeError, KeyError, TypeError or ValueError for a record without the schema."""


def load(
    path: Path, make: Make, *, schema: str, provenance: str = sources.BUILT_IN
) -> tuple[Task, ...]:
    """Return the tasks in a file with a record a line; see `build`."""
    return build(sources.read_lines(path), path, make, provenance=provenance, schema=schema)


def build(
    records: Iterable[Mapping[str, Any]],
    path: Path,
    make: Make,
    *,
    provenance: str,
    schema: str,
) -> tuple[Task, ...]:
    """Return the tasks that records describe; unknown keys are told once for the file.

    Args:
        records: The records, in file order.
        path: Where they were read from.
        make: See `Make`.
        provenance: What every task says about where it is from.
        schema: In words, what a record needs.

    Raises:
        SourceError: if a record does not have the schema, naming its number.
    """
    tasks = []
    for index, record in enumerate(records):
        try:
            tasks.append(make(record, provenance))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise SourceError(
                f"{path}: task {index} cannot be used ({error!r}); it needs {schema}"
            ) from error
    extra = {key for entry in tasks for key in entry.extra if key != "canary"}
    sources.report_unknown(extra, path)
    return tuple(tasks)
