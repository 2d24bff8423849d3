"""The failure of a world under probe, as one error with a detail that is safe to print."""

from __future__ import annotations

from trainer.episode import Episode, Outcome
from trainer.worlds.calls import Fault


class WorldFaulted(Exception):
    """A world raised, died, hung, flooded or answered nonsense."""

    def __init__(self, fault: Fault) -> None:
        """Keep the fault as a value."""
        self.fault = fault
        super().__init__(f"{fault.stop}: {fault.detail}")


def raise_fault(episode: Episode) -> None:
    """Raise what spoiled an episode, if anything did.

    Raises:
        WorldFaulted: if its world, or its user, failed.
    """
    if episode.stop.outcome is Outcome.QUARANTINED:
        raise WorldFaulted(Fault(episode.stop, episode.error or "without a word"))
