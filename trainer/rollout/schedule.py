"""The schedule: which tasks a step plays, with which seeds, and who plays the user.

Tasks of a world come in a seeded order without repetition until all had their turn. The only
state is how many were drawn from each world; it is part of every checkpoint. This module knows
nothing about how an episode goes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trainer import seeds
from trainer.task import Task


@dataclass(frozen=True)
class Assignment:
    """One episode to be played."""

    episode_id: str
    task: Task
    group_id: str
    rollout_index: int
    """Position among the rollouts of its task in this step."""
    seed: int
    """Where the sampler, the world and the user of this episode get their chance from."""


@dataclass(frozen=True)
class TaskCursor:
    """How many tasks were drawn from each world since the run began."""

    drawn: Mapping[str, int] = field(default_factory=dict)


def deal(
    tasks: Mapping[str, Sequence[Task]],
    cursor: TaskCursor,
    *,
    step: int,
    num_dialogues: int,
    group_size: int,
    mix: Mapping[str, float],
    seed: int,
) -> tuple[tuple[Assignment, ...], TaskCursor]:
    """Return the episodes of one step and the cursor after them.

    Args:
        tasks: Training tasks by world.
        cursor: State before the step.
        step: Number of the training step.
        num_dialogues: Episodes to deal, a multiple of `group_size`.
        group_size: Rollouts of each task.
        mix: Share of each world, at least one of them positive; need not add up to 1.
        seed: The run's seed.
    """
    drawn = dict(cursor.drawn)
    assignments: list[Assignment] = []
    for group in range(num_dialogues // group_size):
        world = _draw_world(mix, seeds.uniform(seed, "world", step, group))
        task = _task_at(tasks[world], drawn.get(world, 0), world, seed)
        drawn[world] = drawn.get(world, 0) + 1
        for rollout in range(group_size):
            index = group * group_size + rollout
            assignments.append(
                Assignment(
                    episode_id=f"{step:06d}-{index:02d}",
                    task=task,
                    group_id=f"{step:06d}-g{group:02d}",
                    rollout_index=rollout,
                    seed=seeds.derive(seed, "episode", step, group, rollout),
                )
            )
    return tuple(assignments), TaskCursor(drawn)


def _draw_world(mix: Mapping[str, float], draw: float) -> str:
    worlds = sorted(world for world, weight in mix.items() if weight > 0)
    total = sum(mix[world] for world in worlds)
    reached = 0.0
    for world in worlds:
        reached += mix[world] / total
        if draw < reached:
            return world
    return worlds[-1]


def _task_at(tasks: Sequence[Task], position: int, world: str, seed: int) -> Task:
    epoch, index = divmod(position, len(tasks))
    order = list(range(len(tasks)))
    random.Random(seeds.derive(seed, "order", world, epoch)).shuffle(order)
    return tasks[order[index]]
