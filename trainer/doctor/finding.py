"""What a check found, and what every check is given to look at.

This module knows nothing about any check.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from trainer.recipe import RunConfig


class Level(StrEnum):
    """What a finding means for a run."""

    OK = "ok"
    UNKNOWN = "unknown"
    """It cannot be found out here; the sentence says who would know."""
    DOUBT = "doubt"
    """The run can start; something may go wrong or slowly."""
    FAULT = "fault"
    """The run cannot start, or cannot do what its recipe says."""


class Finding(NamedTuple):
    """One thing that a check found."""

    check: str
    """Name of the check."""
    level: Level
    told: str
    """What is the case, and what to do where something should be done."""


class Gpu(NamedTuple):
    """One GPU of this machine."""

    name: str
    total: int
    """Its memory in bytes."""
    free: int


@dataclass(frozen=True)
class Patient:
    """A recipe on a machine."""

    config: RunConfig | None = None
    """None where only the machine is looked at."""
    runs: Path = Path("runs")
    knobs: Path = Path("knobs")
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    proc: Path = Path("/proc")
    gpus: Callable[[], tuple[Gpu, ...]] = tuple
    """Returns the GPUs that the tensor library sees."""


Check = Callable[[Patient], Iterator[Finding]]
"""Looks at a patient and yields what it found, under its own name."""
