"""Places: where episodes are played, the worlds and users of each revision.

A revision of the worlds gets workers and users of its own. They are opened when a step first
needs them and ended at the first step boundary that does not, so an episode ends under the
revision that it began under. This module knows nothing about why a revision is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, Self

from trainer.episode import Voice
from trainer.users.seam import UserEngine
from trainer.worlds.calls import Host


class Place(NamedTuple):
    """What one revision of the worlds brings to a rollout."""

    worlds: Host
    users: Mapping[Voice, UserEngine]
    end: Callable[[], None] = lambda: None
    """Ends its processes; called once."""
    unfenced: Callable[[], list[str]] = list
    """Returns the names of its worlds that can reach the network."""


class Places:
    """The places that are open, by the revision of their worlds."""

    def __init__(self, open_at: Callable[[int], Place]) -> None:
        """Open nothing yet.

        Args:
            open_at: Returns the place of one revision, `world/NNNN`. What is wrong with its
                worlds or users is told by the episodes that are played there.
        """
        self._open_at = open_at
        self._open: dict[int, Place] = {}

    def at(self, revision: int) -> Place:
        """Return the place of one revision, opened now if it must be."""
        if revision not in self._open:
            self._open[revision] = self._open_at(revision)
        return self._open[revision]

    def keep(self, needed: Collection[int]) -> None:
        """Open what the step about to begin needs and end what it does not.

        Args:
            needed: Revisions of the worlds; no episode is under way.
        """
        for revision in sorted(self._open.keys() - set(needed)):
            self._open.pop(revision).end()
        for revision in sorted(needed):
            self.at(revision)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.keep(())
