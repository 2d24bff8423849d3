"""What the guard tells the trainer at every step boundary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from gate.contract.breaches import Breach
from gate.contract.experiments import Experiment
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
    worlds: tuple[str, ...] = ()
    """The worlds of which it changes files."""
    difference: str = ""
    """How those files differ."""
    probe: Mapping[str, Any] | None = None
    """What a probe measured; None where none was asked."""

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
            "worlds": list(self.worlds),
            "difference": self.difference,
            "probe": None if self.probe is None else dict(self.probe),
        }


@dataclass(frozen=True)
class Condition:
    """Everything that an edit may change about an episode: what it is played under."""

    knobs: Knobs
    revision: int
    """The revision that these knobs belong to."""
    world_revision: int
    """The folder `world/NNNN` that worlds and user rules are taken from."""


@dataclass(frozen=True)
class OpenTest:
    """A test that splits every batch: each group of episodes is drawn to one of the sides."""

    number: int
    """The number of its file, `experiments/NNNN.yaml`."""
    old: Condition
    new: Condition
    """What is in force."""
    new_share: float = 0.5
    """Probability that a group plays under the new values."""


@dataclass(frozen=True)
class EffectTold:
    """A verdict about a revision in force, as the ledger's outcome line has it."""

    seq: int
    """The number of that line; a lesson cites it."""
    step: int
    proposal: int | None
    """None for a change that came by another door than a proposal."""
    revision: int
    verdict: str
    """One of `gate.effects.verdicts.Verdict`."""
    because: str
    """One sentence with the numbers that decided."""
    rolled_back_by: int | None = None
    """The revision that took the change back; None if it stays."""


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
    world_revision: int = 0
    """The folder `world/NNNN` that is in force."""
    test: OpenTest | None = None
    """The test that splits the batch of this step, if one is open that does."""
    breaches: tuple[Breach, ...] = ()
    """What was found to be written by somebody whose it was not, since the step before."""
    verdicts: tuple[EffectTold, ...] = ()
    """What was judged since the step before."""
    opened: tuple[Experiment, ...] = ()
    """The tests that were declared since the step before, those included that cannot be judged."""
