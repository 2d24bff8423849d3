"""The time that a probe has, shared out over its checks.

A check that is out of time stops where it stands and is told as unreached, never as passed. The
clock is an argument; nothing here knows what the time is spent on.
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

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin now.

        Args:
            seconds: For all checks together.
            clock: Seconds since any fixed point.
        """
        self._clock = clock
        self._began = clock()
        self._ends = self._began + seconds
        self.loading_s = LOADING_SHARE * seconds
        """Seconds that one world may take to load."""
        self.longest_call_s = CALL_SHARE * seconds
        """Seconds that one call into a world may take."""
        self._until = self._ends

    @property
    def spent_s(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    @property
    def left_s(self) -> float:
        """Seconds that the check in progress has left; below 0 when it is over."""
        return self._until - self._clock()

    @property
    def all_left_s(self) -> float:
        """Seconds that all checks together have left; below 0 when they are over."""
        return self._ends - self._clock()

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
