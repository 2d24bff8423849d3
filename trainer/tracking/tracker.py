"""The seam to a tracker: what it is told of a run, and what it must be able to do.

A tracker is opened in a follower's process and may raise, hang or flood there; nothing of it is
ever loaded where a run trains. This module knows nothing about any one tracker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Kind(StrEnum):
    """The trackers that a run can be followed into."""

    TENSORBOARD = "tensorboard"
    TRACKIO = "trackio"
    WANDB = "wandb"


@dataclass(frozen=True)
class About:
    """What a tracker is told of a run as a whole; no address, path or key is among it."""

    run: str
    """Id of the run."""
    identity: str
    """The same with a digest of its launch, so that two runs of one id stay apart."""
    facts: Mapping[str, str | int]
    """Few words that tell runs apart: recipe, seed, commit."""


@dataclass(frozen=True)
class Row:
    """What belongs to one training step."""

    step: int
    time: float | None
    """When the step ended, in seconds since 1970; None where the record does not tell."""
    numbers: Mapping[str, float]
    """Finite numbers by name (see `trainer.tracking.flattening`)."""
    marks: tuple[str, ...] = ()
    """What came into force or was found by then, a line each, without control characters."""

    @property
    def marks_name(self) -> str:
        """The name that its marks go by; those after the last step never meet that step's own."""
        return "ledger/step" if self.numbers else "ledger/end"


class Tracker(Protocol):
    """Somewhere that rows go to, in the order of their steps."""

    @property
    def replaces(self) -> bool:
        """Whether rows that are written again take the place of those that were there."""
        ...

    def write(self, row: Row) -> None:
        """Take one row; it may be kept back until `flush`."""
        ...

    def flush(self) -> None:
        """Put what was taken where it is safe from the end of this process, as far as it can."""
        ...

    def close(self) -> None:
        """Take leave; nothing is written after it."""
        ...
