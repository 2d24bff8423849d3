"""What a reply may disclose: facts that the task has, and nothing else.

A reply that names another is a fault of whoever plays the user and raises; what the disclosed facts
are worth is the word of each world.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from trainer.task import Task


def refuse_unknown(
    task: Task, told: Iterable[str], noun: str = "facts", *, known: Collection[str] | None = None
) -> None:
    """Refuse ids of facts that a task does not have.

    Args:
        task: The task that is played.
        told: Ids of the facts that a reply disclosed.
        noun: What the world calls its facts.
        known: Ids that there are; None for those of the task's facts.

    Raises:
        ValueError: if there is no fact of one of the ids.
    """
    there = {fact.id for fact in task.facts} if known is None else known
    unknown = set(told).difference(there)
    if unknown:
        raise ValueError(f"task {task.id} has no {noun} {sorted(unknown)}")
