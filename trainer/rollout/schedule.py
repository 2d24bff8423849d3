"""The schedule: which tasks a step plays, with which seeds, on which side.

Tasks of a world come in a seeded order without repetition until all had their turn. The only
state is how many were drawn from each world; it is part of every checkpoint. Which groups are
anchors changes neither task nor seed of the others. This module knows nothing about how an
episode goes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gate.contract.sides import Side
from trainer import seeds
from trainer.question import Answers
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
    side: Side = Side.IN_FORCE
    """Which values it plays under; the same for all rollouts of its group."""
    answers: Answers = field(default_factory=dict)
    """What a judge said of it when it was played before: of a replayed step, nothing is asked
    again."""


@dataclass(frozen=True)
class TaskCursor:
    """How many tasks were drawn from each world since the run began."""

    drawn: Mapping[str, int] = field(default_factory=dict)


def deal(
    tasks: Mapping[str, Sequence[Task]],
    cursor: TaskCursor,
    *,
    step: int,
    group_size: int,
    sides: Sequence[Side],
    mixes: Mapping[Side, Mapping[str, float]],
    seed: int,
) -> tuple[tuple[Assignment, ...], TaskCursor]:
    """Return the episodes of one step and the cursor after them.

    Args:
        tasks: Training tasks by world.
        cursor: State before the step.
        step: Number of the training step.
        group_size: Rollouts of each task.
        sides: The side of each group; as many groups are dealt.
        mixes: By side the share of each world, at least one of them positive; need not add up
            to 1. That of `IN_FORCE` is always there.
        seed: The run's seed.
    """
    drawn = dict(cursor.drawn)
    assignments: list[Assignment] = []
    for group, side in enumerate(sides):
        chance = seeds.uniform(seed, "world", step, group)
        own = Side.IN_FORCE if side is Side.ANCHOR else side
        world = _draw_world(mixes[own], chance)
        task = _task_at(tasks[world], drawn.get(world, 0), world, seed)
        drawn[world] = drawn.get(world, 0) + 1
        # An anchor takes the place, and in a world of both mixes the task, of its group: what is
        # drawn after it is what would have been drawn anyway.
        if side is Side.ANCHOR and (pinned := _draw_world(mixes[side], chance)) != world:
            any_task = seeds.derive(seed, "anchor task", step, group) % len(tasks[pinned])
            task = tasks[pinned][any_task]
        for rollout in range(group_size):
            index = group * group_size + rollout
            assignments.append(
                Assignment(
                    episode_id=f"{step:06d}-{index:02d}",
                    task=task,
                    group_id=f"{step:06d}-g{group:02d}",
                    rollout_index=rollout,
                    seed=seeds.derive(seed, "episode", step, group, rollout),
                    side=side,
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
