"""A stopwatch: how long each stage took, on a clock that is passed in.

A stage lasts while anything of it is under way. Where several things are in the same stage at
once the time counts once, and where stages overlap it counts in each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up the seconds in which each stage was under way."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start with nothing measured.

        Args:
            clock: Monotonic seconds.
        """
        self._clock = clock
        self._under_way: Counter[str] = Counter()
        self._since: dict[str, float] = {}
        self.started_s = clock()
        """Reading of the clock at the beginning."""
        self.seconds: dict[str, float] = {}

    def begin(self, stage: str) -> None:
        """Note that one more thing is in a stage."""
        if not self._under_way[stage]:
            self._since[stage] = self._clock()
        self._under_way[stage] += 1

    def end(self, stage: str) -> None:
        """Note that one of the things in a stage is through; the last one ends the stage."""
        self._under_way[stage] -= 1
        if not self._under_way[stage]:
            elapsed = self._clock() - self._since[stage]
            self.seconds[stage] = self.seconds.get(stage, 0.0) + elapsed

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Be in a stage inside of the block."""
        self.begin(stage)
        try:
            yield
        finally:
            self.end(stage)
