"""Calls that are under way: what a host has beside `Host`, and how long an answer is waited for.

Nothing here waits and nothing reads: `trainer.worlds.host` does, and says what time it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from trainer.worlds.calls import Call, Result
from trainer.worlds.line import EpisodeLine

POST_MORTEM_S = 0.2
"""How long to wait for the word on how a process ended; the fault is certain by then."""


@runtime_checkable
class CallsInFlight(Protocol):
    """What a host has beside `Host` whose worlds run somewhere else, each by itself."""

    def send(self, calls: Mapping[str, Call], *, deadline_s: float) -> None:
        """Ask many episodes and come back at once.

        Args:
            calls: At most one call for each open episode that has none under way, by key.
            deadline_s: Seconds that each may take, from when its world has loaded.

        Raises:
            ValueError: if a key is not open.
        """
        ...

    def descriptors(self) -> Mapping[int, int]:
        """Return what to listen to until `arrived` has news, with the events of `select.poll`."""
        ...

    def arrived(self) -> dict[str, Result]:
        """Return the results that have come since this was last asked, one for each call sent.

        What is late is killed and comes back as a fault; an episode that was closed does not come
        back. To be asked now and then, whatever the descriptors say.
        """
        ...


@dataclass
class Pending:
    """One call until there is a result."""

    line: EpisodeLine
    deadline_s: float
    sent_s: float
    connected_s: float | None = None
    """When the world was first seen to be there."""
    died_s: float | None = None
    """When its end was first seen."""

    def waits(self, now: float) -> bool:
        """True while there is no result, or how its process ended may still be told."""
        if self.line.result is None:
            return True
        if not self.line.unexplained:
            return False
        self.died_s = now if self.died_s is None else self.died_s
        return now - self.died_s < POST_MORTEM_S

    def is_late(self, now: float) -> bool:
        """True when a world that is there has had its time."""
        if self.line.result is not None or not self.line.connected:
            return False
        self.connected_s = now if self.connected_s is None else self.connected_s
        return now - self.connected_s >= self.deadline_s

    def cannot_begin(self, now: float, load_s: float) -> bool:
        """True when its world has had the time that a load may take and is not there."""
        loads = not self.line.connected and not self.line.over
        return loads and now - self.sent_s >= load_s
