"""The tau verifier: what a dialogue at a desk came to, from its turns alone.

A dialogue earns 1, once, when the user ended it or was handed over, the database is what the gold
actions make of it, and every output was said; anything else earns 0. Which way led there does not
matter. Knows nothing about prompts, shaping or user engines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainer.episode import Turn
from trainer.task import Task
from trainer.worlds.seam import Verdict
from trainer.worlds.tau2 import shelf, verdicts
from trainer.worlds.tau2.office import Bases

from .desks import desk_of  # noqa: TID252 - the folder is loaded by path
from .reading import read  # noqa: TID252

METRIC = "pass"
"""Name of the reward among the metrics."""
_NAMES = {
    METRIC: METRIC,
    "db": "db",
    "communicate": "outputs",
    "db_changes": "db_changes",
    "gold_faults": "gold_faults",
    "tool_errors": "tool_errors",
    "ended": "ended",
    "facts_learnt": "facts_learnt",
}
"""The numbers of a tau2 verdict that this benchmark has, and what they are called here."""


def bases_of(task: Task) -> Bases:
    """Return the database in which a task begins, with its records as they stand in the files."""
    return shelf.bases(task)


def told(verdict: Verdict) -> Verdict:
    """Return a desk's verdict with the numbers of this benchmark."""
    metrics = {name: verdict.metrics[source] for source, name in _NAMES.items()}
    return Verdict(verdict.success, verdict.reward, metrics)


def rejudge(
    task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
) -> Verdict:
    """Judge a recorded dialogue; no setting of the world matters for its worth.

    Args:
        task: The task that was played.
        turns: The recorded conversation.
        settings: The world's settings at the time.
    """
    domain = desk_of(task)
    return told(verdicts.rejudge(domain, task, turns, bases_of(task), metric=METRIC, read=read))
