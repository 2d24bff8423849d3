"""What the guard tells the trainer at every step boundary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from gate.contract.findings import Finding
from gate.contract.knobs import KnobChange, Knobs


@dataclass(frozen=True)
class ProposalOutcome:
    """What the gate decided about one proposal."""

    number: int
    step: int
    """The training step at whose start it was decided."""
    revision: int | None
    """The revision that brought it into force; None if it was refused."""
    changes: tuple[KnobChange, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Why it was refused, or what is doubtful about it."""
    digest: str = ""
    """The sha256 of the file that was decided about; empty if it could not be read."""
    forced: str = ""
    """Why a person overruled what stood against it."""

    def __str__(self) -> str:
        """Return it on one line: the first reason of a refusal, or the revision."""
        if self.revision is not None:
            forced = f", forced: {self.forced}" if self.forced else ""
            return f"proposal {self.number} is in force (revision {self.revision}{forced})"
        first, *others = map(str, self.findings)
        more = f" (and {len(others)} more)" if others else ""
        return f"proposal {self.number} was refused: {first}{more}"

    def to_json(self) -> dict[str, Any]:
        """Return it as `proposals/NNNN.report.json` holds it."""
        return {
            "proposal": self.number,
            "verdict": "refused" if self.revision is None else "accepted",
            "step": self.step,
            "revision": self.revision,
            "digest": self.digest,
            "changes": [change.to_json() for change in self.changes],
            "findings": [finding.to_json() for finding in self.findings],
            "forced": self.forced,
        }


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
    proposals: tuple[ProposalOutcome, ...] = ()
    """What was decided about proposals since the step before."""
    waiting: tuple[Finding, ...] = ()
    """Why submitted proposals are not decided yet."""
