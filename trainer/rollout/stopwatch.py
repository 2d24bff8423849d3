"""A stopwatch: how long each stage took, on a clock that is passed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up seconds by stage."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start with nothing measured.

        Args:
            clock: Monotonic seconds.
        """
        self._clock = clock
        self.started_s = clock()
        """Reading of the clock at the beginning."""
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        began = self._clock()
        try:
            yield
        finally:
            elapsed = self._clock() - began
            self.seconds[stage] = self.seconds.get(stage, 0.0) + elapsed
