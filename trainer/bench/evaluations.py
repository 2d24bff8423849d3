"""How many answers a second the sandbox evaluates, with a warm warden and one program at a time.

Timed by the clock: a program runs in processes of its own, one after the other, so that the rate is
that of one core unless others keep it busy.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from trainer.bench.figures import Figure, at_least
from trainer.worlds import catalog
from trainer.worlds.sandbox import client
from trainer.worlds.sandbox.program import Namespace, Program

LEAST = 20.0
"""Evaluations a second that the sandbox must reach."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    programs: int = 40
    """References of our own tasks in a round, each with its ten calls."""
    rounds: int = 5


FULL = Sizes()
QUICK = Sizes(programs=20, rounds=3)


def measure(sizes: Sizes) -> list[Figure]:
    """Time references of our own tasks under both namespaces."""
    tasks = catalog.tasks("colbench", "train")[: sizes.programs]
    sandbox = client.shared()
    figures = []
    for namespace in Namespace:
        programs = [
            Program(task.payload["reference"], tuple(task.payload["calls"]), namespace)
            for task in tasks
        ]
        spent_s = []
        for _ in range(sizes.rounds):
            began = time.perf_counter()
            for program in programs:
                sandbox.evaluate(program)
            spent_s.append(time.perf_counter() - began)
        rate = len(programs) / statistics.median(spent_s)
        figures.append(Figure(f"evaluations, {namespace}", rate, "evaluations/s", at_least(LEAST)))
    return figures
