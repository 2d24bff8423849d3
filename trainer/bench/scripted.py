"""How many episodes a second a world plays with its scripted players and the symbolic user.

Training tasks of our own, in this process, on one core: what a world itself costs, without a model
and without the seam to its process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from trainer.bench.figures import Figure, at_least
from trainer.bench.timing import cpu_per_wall, median_cpu_s, take_turns
from trainer.stage import Stage, stage
from trainer.task import Task
from trainer.worlds import catalog

PLAYERS = ("oracle", "hasty")
"""An expert, and one that needs more turns or makes mistakes; each plays half of the episodes."""

ELSEWHERE = ("colbench",)
"""Worlds that compute in other processes, whose speed the CPU seconds of this one do not tell."""
LEAST = 300.0
"""Episodes a second that a world must play."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    episodes: int = 100
    """Episodes of each world in a round."""
    rounds: int = 5


FULL = Sizes()
QUICK = Sizes(episodes=30, rounds=3)


def measure(sizes: Sizes) -> list[Figure]:
    """Time the episodes of every world that is Python in this process."""
    names = [name for name in catalog.WORLDS if name not in ELSEWHERE]
    works = {
        name: partial(_play, stage(name), catalog.tasks(name, "train"), sizes.episodes)
        for name in names
    }
    spent = take_turns(works, rounds=sizes.rounds)
    return [
        Figure(
            f"episodes in {name}",
            sizes.episodes / median_cpu_s(rounds),
            "episodes/s",
            at_least(LEAST),
            cpu_per_wall(rounds),
        )
        for name, rounds in spent.items()
    ]


def _play(ready: Stage, tasks: Sequence[Task], episodes: int) -> None:
    for number in range(episodes):
        task = tasks[number % len(tasks)]
        ready.play(task, PLAYERS[number % len(PLAYERS)], seed=number)
