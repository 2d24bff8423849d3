"""Time as far as the machine grants it: a clock that goes slower while others hold the cores.

A probe may take ten seconds of a free machine. Beside a training run and its workers the same work
takes longer by the clock on the wall, and that is nothing to refuse a candidate for. How long this
process ran and how long it waited for a core comes from the kernel; where that is not told, the
clock is the wall's. What the time is spent on is not known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

LEAST_SHARE = 1 / 6
"""Slowest that the clock goes, relative to the wall's: ten seconds are never more than sixty."""
KNOWN_AFTER_S = 0.02
"""Seconds of running and waiting before which nothing is concluded from them."""
_SCHEDSTAT = Path("/proc/self/schedstat")
_NANO = 1e-9


class Scheduled(NamedTuple):
    """What the kernel says about a process, in seconds."""

    ran: float
    waited: float
    """For a core, ready to run."""


def scheduled() -> Scheduled:
    """Return what the kernel says about this process; zeros where it says nothing."""
    try:
        ran, waited, *_ = _SCHEDSTAT.read_text().split()
    except OSError:
        return Scheduled(0.0, 0.0)
    return Scheduled(int(ran) * _NANO, int(waited) * _NANO)


class GrantedTime:
    """A clock of granted seconds; it begins at 0 and never goes back.

    Args:
        wall: Seconds since any fixed point.
        told: Returns how long this process ran and waited so far.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.monotonic,
        told: Callable[[], Scheduled] = scheduled,
    ) -> None:
        self._wall, self._told = wall, told
        self._began = told()
        self._seen = wall()
        self._granted = 0.0

    @property
    def share(self) -> float:
        """Share of its time that this process really had a core, of what it could have used."""
        ran, waited = (now - began for now, began in zip(self._told(), self._began, strict=True))
        if ran + waited < KNOWN_AFTER_S:
            return 1.0
        return max(LEAST_SHARE, ran / (ran + waited))

    def __call__(self) -> float:
        """Return the seconds granted so far."""
        now = self._wall()
        self._granted += (now - self._seen) * self.share
        self._seen = now
        return self._granted

    def on_the_wall(self, seconds: float) -> float:
        """Return how long so many granted seconds take by the wall's clock, as things are."""
        return seconds / self.share
