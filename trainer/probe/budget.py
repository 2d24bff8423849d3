"""The time that a probe has, shared out over its checks.

A check that is out of time stops where it stands and is told as unreached, never as passed. The
clock is an argument. Nothing here knows what the time is spent on.
"""

from __future__ import annotations

import time
from collections.abc import Callable

GENEROSITY = 20.0
"""Times its even share that one check may take, since most checks leave most of theirs."""


LOADING_SHARE = 0.4
"""Share of all time that one world may take to load."""
CALL_SHARE = 0.3
"""Share of all time that one call into a world may take, so that one that hangs leaves time for
the others."""


class OutOfTime(Exception):
    """A check has used up its time."""


class Budget:
    """A deadline for everything, and one for the check in progress."""

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        on_the_wall: Callable[[float], float] = float,
    ) -> None:
        """Begin now.

        Args:
            seconds: For all checks together.
            clock: Seconds since any fixed point.
            on_the_wall: Returns how long so many of its seconds take by the wall's clock, by which
                processes are waited for.
        """
        self._clock, self._on_the_wall = clock, on_the_wall
        self._began = clock()
        self._seconds = seconds
        self._ends = self._began + seconds
        self._until = self._ends

    @property
    def loading_s(self) -> float:
        """Seconds on the wall that one world may take to load."""
        return self._on_the_wall(LOADING_SHARE * self._seconds)

    @property
    def longest_call_s(self) -> float:
        """Seconds on the wall that one call into a world may take now."""
        return self._on_the_wall(min(CALL_SHARE * self._seconds, self._ends - self._clock()))

    @property
    def spent_s(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    @property
    def left_s(self) -> float:
        """Seconds that the check in progress has left; below 0 when it is over."""
        return self._until - self._clock()

    def share(self, part: float) -> None:
        """Give the next check its part of what is left.

        Args:
            part: Its even share, in (0, 1]; it may take up to `GENEROSITY` times as much.
        """
        now = self._clock()
        self._until = now + (self._ends - now) * min(1.0, part * GENEROSITY)

    def ask(self) -> None:
        """Go on if there is time.

        Raises:
            OutOfTime: if there is none.
        """
        if self.left_s <= 0:
            raise OutOfTime
