"""The failure of a world under probe, as one error with a detail that is safe to print."""

from __future__ import annotations

from trainer.episode import Episode, Outcome
from trainer.worlds.calls import Fault


class WorldFaulted(Exception):
    """A world raised, died, hung, flooded or answered nonsense."""

    def __init__(self, fault: Fault, side: str) -> None:
        """Keep the fault as a value.

        Args:
            fault: What went wrong.
            side: The label of the version whose world it was.
        """
        self.fault = fault
        self.side = side
        super().__init__(f"{fault.stop}: {fault.detail}")


def raise_fault(episode: Episode, side: str) -> None:
    """Raise what spoiled an episode, if anything did.

    Args:
        episode: The episode.
        side: The label of the version that was played.

    Raises:
        WorldFaulted: if its world, or its user, failed.
    """
    if episode.stop.outcome is Outcome.QUARANTINED:
        raise WorldFaulted(Fault(episode.stop, episode.error or "without a word"), side)
