"""The tasks that a probe tries: few, drawn by a seed, and chosen so that nothing stays unseen.

First a task for every kind of fact and the one with most facts, then others by chance. The
candidate's author does not know the seed, so cannot prepare for the tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch

from trainer import seeds
from trainer.recipe import WorldConfig
from trainer.task import Task
from trainer.worlds import catalog


def tasks_of(world: str, setting: WorldConfig) -> tuple[Task, ...]:
    """Return the training tasks that a recipe takes from a world.

    Raises:
        ValueError: if they cannot be read.
    """
    loaded = catalog.tasks(world, "train", setting.source)
    kept = tuple(task for task in loaded if fnmatch(task.id, setting.tasks))
    return kept[: setting.limit]


def draw(tasks: Sequence[Task], most: int, *, seed: int) -> tuple[Task, ...]:
    """Return at most so many tasks, in file order.

    Args:
        tasks: What there is.
        most: How many, at least 1.
        seed: Decides which.
    """
    order = sorted(tasks, key=lambda task: seeds.uniform(seed, "task", task.world, task.id))
    chosen: dict[str, Task] = {}
    if order:
        longest = max(order, key=lambda task: len(task.facts))
        chosen[longest.id] = longest
    seen = {fact.kind for task in chosen.values() for fact in task.facts}
    for task in order:
        kinds = {fact.kind for fact in task.facts}
        if kinds - seen:
            chosen.setdefault(task.id, task)
            seen |= kinds
    for task in order:
        chosen.setdefault(task.id, task)
    kept = dict(list(chosen.items())[:most])
    return tuple(task for task in tasks if kept.get(task.id) is task)


def portions(total: int, worlds: int) -> list[int]:
    """Return how many tasks each world gets, at least 1 each and `total` together if there is room.

    Args:
        total: Tasks over all worlds.
        worlds: Number of worlds.
    """
    share, rest = divmod(total, max(worlds, 1))
    return [max(1, share + (index < rest)) for index in range(worlds)]
