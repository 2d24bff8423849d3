"""Timing on a machine that others use too: CPU time beside wall time, and turns taken.

What computes in one thread is judged by the CPU seconds of this process, which a neighbour
stretches least; what waits, for a disk or another process, is judged by wall time. Two things
that are compared take turns, ABAB, so that a slow minute falls on both.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple


class Spent(NamedTuple):
    """What a piece of work took, in seconds."""

    wall_s: float
    cpu_s: float
    """Of this process, all threads."""


def spend(work: Callable[[], object]) -> Spent:
    """Do the work and return what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def take_turns(
    works: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 1
) -> dict[str, list[Spent]]:
    """Do every work once per round, in turn; return what each took in each round.

    Args:
        works: What is compared, by name.
        rounds: Rounds that count, >= 1.
        warm_up: Rounds before them that do not.
    """
    spent: dict[str, list[Spent]] = {name: [] for name in works}
    for number in range(warm_up + rounds):
        for name, work in works.items():
            took = spend(work)
            if number >= warm_up:
                spent[name].append(took)
    return spent


def median_cpu_s(spent: Sequence[Spent]) -> float:
    """Return the median of the CPU seconds."""
    return median(one.cpu_s for one in spent)


def median_ratio(over: Sequence[Spent], under: Sequence[Spent]) -> float:
    """Return the median, over the rounds, of how many times the CPU seconds one took of the other.

    Args:
        over: What each round of the one took.
        under: What each round of the other took.
    """
    return median(a.cpu_s / b.cpu_s for a, b in zip(over, under, strict=True))


def cpu_per_wall(spent: Sequence[Spent]) -> float:
    """Return CPU seconds per second of wall time over all of them."""
    return sum(one.cpu_s for one in spent) / sum(one.wall_s for one in spent)


def descendants_cpu_s() -> float:
    """Return the CPU seconds of this process's living descendants and of what they waited for."""
    used: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name before the last bracket may hold anything.
            numbers = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        used[int(folder.name)] = sum(map(int, numbers[11:15]))
        children.setdefault(int(numbers[1]), []).append(int(folder.name))
    family = children.get(os.getpid(), [])
    for pid in family:
        family += children.get(pid, [])
    return sum(used[pid] for pid in family) / os.sysconf("SC_CLK_TCK")


@dataclass
class Account:
    """Seconds by stage, both clocks."""

    spent: dict[str, Spent] = field(default_factory=dict)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Add what the block takes to a stage."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            before = self.spent.get(stage, Spent(0.0, 0.0))
            self.spent[stage] = Spent(
                before.wall_s + time.perf_counter() - wall,
                before.cpu_s + time.process_time() - cpu,
            )


class Watched:
    """Anything, with the time of its method calls put on an account.

    Attributes and properties pass through; a call within a call of the same object is not seen.
    """

    def __init__(self, inner: Any, account: Account, stages: Mapping[str, str], rest: str) -> None:
        """Wrap an object.

        Args:
            inner: The object.
            account: Where the time goes.
            stages: Stage by name of method.
            rest: Stage of every other method.
        """
        self._inner = inner
        self._account = account
        self._stages = stages
        self._rest = rest

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found
        stage = self._stages.get(name, self._rest)

        def timed(*args: Any, **kwargs: Any) -> Any:
            with self._account(stage):
                return found(*args, **kwargs)

        return timed
