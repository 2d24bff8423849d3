"""Faults of task data that a replay of the gold actions shows, told when real tasks are loaded.

Nothing is mended: a task stays what its data say, and its numbers mean what they say. Who reads
results must know which tasks cannot be solved and which solve themselves.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from trainer.task import Task
from trainer.worlds.tau2 import loading
from trainer.worlds.tau2.case import read_case
from trainer.worlds.tau2.loading import Layout
from trainer.worlds.tau2.office import Bases, Domain, close_by_gold, open_office
from trainer.worlds.tau2.scoring import score
from trainer.worlds.tau2.service import Service

_MOST_NAMED = 12

_log = logging.getLogger(__name__)


class DataFault(StrEnum):
    """What is wrong with a task, as its own sentence."""

    REFUSED = "the tools refuse a gold action (tau2-bench #499)"
    UNREACHABLE = "not even the gold actions reach the end"
    FREE = "doing nothing is the end (tau2-bench #384)"


def faults_of(task: Task, domain: Domain, bases: Bases) -> Iterator[DataFault]:
    """Yield what is wrong with a task."""
    case = read_case(task.payload["record"])
    gold = close_by_gold(domain, case, bases)
    if any(not outcome.ok for outcome in gold.log):
        yield DataFault.REFUSED
    # Where only assertions say what the end is, there is no gold way to it that could fail.
    reached = score(domain, case, bases, gold, case.communicate, ended=True).reward == 1.0
    if case.actions and not reached:
        yield DataFault.UNREACHABLE
    untouched = open_office(domain, case, bases)
    if score(domain, case, bases, untouched, (), ended=True).reward == 1.0:
        yield DataFault.FREE


def load(layout: Layout, split: str, source: Path | None, service: Service) -> tuple[Task, ...]:
    """Return the tasks of a split; the faults of real ones are told, and they stay what they are.

    Args:
        layout: The domain's files.
        split: `train` or `evaluation`.
        source: See `loading.load`.
        service: The desk at which the tasks are played.

    Raises:
        SourceError: if a file is missing (all tried paths are listed) or a record is unusable.
    """
    tasks = loading.load(layout, split, source)
    if source is not None:
        tell(tasks, service.domain, service.bases_of)
    return tasks


def tell(tasks: Iterable[Task], domain: Domain, bases_of: Callable[[Task], Bases]) -> None:
    """Say once for each kind of fault which tasks have it."""
    found: dict[DataFault, list[str]] = defaultdict(list)
    for task in tasks:
        for fault in faults_of(task, domain, bases_of(task)):
            found[fault].append(task.id)
    for fault, ids in sorted(found.items()):
        more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
        _log.warning(
            "%s: in %d tasks %s: %s%s",
            domain.name, len(ids), fault, ", ".join(ids[:_MOST_NAMED]), more,
        )  # fmt: skip
