"""What the guard tells the trainer at every step boundary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gate.contract.findings import Finding
from gate.contract.knobs import KnobChange, Knobs


@dataclass(frozen=True)
class KnobStatus:
    """The knobs in force for one step, and what became of the desired state on disk."""

    knobs: Knobs
    """In force for the whole step."""
    revision: int
    """The revision they belong to."""
    changed: tuple[KnobChange, ...] = ()
    """What came into force with this step."""
    refused: tuple[Finding, ...] = ()
    """Why the files on disk are not in force; told at every step until they are mended."""
    warnings: tuple[Finding, ...] = ()
    """What is in force but doubtful."""
    since_step: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """The first step under its present value, for every knob changed since the launch."""
