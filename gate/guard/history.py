"""The ledger as the guard remembers it: the knobs of every revision, computed once.

It follows the ledger and decides nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gate.contract import breaches, experiments, knobs, ledger, windows
from gate.contract.breaches import Breach
from gate.contract.experiments import Experiment, Outcome
from gate.contract.findings import Finding
from gate.contract.knobs import KnobChange, Knobs
from gate.contract.ledger import Entry, EntryKind, Revision, RevisionKind
from gate.contract.windows import Window
from gate.guard.status import ProposalOutcome


@dataclass(frozen=True)
class History:
    """All revisions of a run up to some moment."""

    revisions: tuple[Revision, ...]
    knobs_by_revision: Mapping[int, Knobs]
    refused: tuple[Any, ...]
    """The states of the files (see `Desired.state`) that were refused and recorded."""
    digests: Mapping[str, str]
    """The sha256 of each file as last adopted, by its path within the run."""
    outcomes: Mapping[int, ProposalOutcome]
    """What was decided about each proposal so far, by its number."""
    experiments: Mapping[int, Experiment]
    """Every test by its number, those included that cannot be judged."""
    effects: tuple[Outcome, ...]
    """What was found about changes, oldest first."""
    breaches: tuple[Breach, ...]
    """What was written by somebody whose it was not, oldest first."""
    num_bytes: int
    """Size of the ledger that this comes from; a ledger of another size has news."""

    @property
    def newest(self) -> int:
        """The number of the newest revision."""
        return self.revisions[-1].number

    @property
    def open_tests(self) -> tuple[Experiment, ...]:
        """The tests that are not over, oldest first."""
        return experiments.open_tests(self.experiments, self.effects)

    def windows(self, step: int) -> tuple[Window, ...]:
        """Return the windows that a training step lies in."""
        extended = experiments.lagging(self.effects)
        return windows.open_at(step, self.revisions, self.open_tests, extended=extended)

    def world(self, revision: int) -> int:
        """Return the folder `world/NNNN` that is in force under one revision.

        Raises:
            ValueError: if the run has no such revision.
        """
        for known in self.revisions:
            if known.number == revision:
                return known.world
        raise ValueError(f"there is no revision {revision}; the newest is {self.newest}")

    def since_step(self, revision: int) -> Mapping[str, int]:
        """Return the first step under each changed knob's value, as of one revision."""
        found = {
            change.path: past.step
            for past in self.revisions
            if past.number <= revision
            for change in past.changes
        }
        return MappingProxyType(found)


def read(path: Path, *, worlds: tuple[str, ...], known: History | None = None) -> History:
    """Read a ledger.

    Args:
        path: The ledger.
        worlds: Names of the run's worlds.
        known: An earlier reading of the same ledger, whose knobs are used again.

    Raises:
        ledger.Damaged: if it does not begin with a launch, its lines do not follow from each
            other, or revisions are gone that were there.
        gate.contract.findings.Refused: if the launch values are not valid.
    """
    num_bytes = size(path)
    chain = ledger.verify(path)
    if not chain.ok:
        raise ledger.Damaged(
            f"{path.name}: line {chain.first_bad_line} does not follow from the line before; "
            "restore the ledger: revisions in it cannot be trusted"
        )
    launch_values = ledger.launch_values(path)
    revisions = ledger.revisions(path)
    if known is not None and revisions[-1].number < known.newest:
        raise ledger.Damaged(
            f"{path.name} ends at revision {revisions[-1].number}, but revision {known.newest} "
            "was in it; restore its last lines"
        )
    entries = ledger.entries(path)
    states = dict(known.knobs_by_revision) if known is not None else {}
    for revision in revisions:
        if revision.number in states:
            continue
        if revision.number == 0:
            states[0] = knobs.from_values(launch_values, worlds=worlds)
        else:
            states[revision.number] = knobs.apply(states[revision.base], revision.changes)
    return History(
        revisions=revisions,
        knobs_by_revision=MappingProxyType(states),
        refused=tuple(
            entry.body["state"]
            for entry in entries
            if entry.kind is EntryKind.REFUSED and "state" in entry.body
        ),
        outcomes=MappingProxyType(outcomes(entries, revisions)),
        digests=ledger.file_digests(revisions),
        experiments=MappingProxyType(experiments.declared(entries)),
        effects=experiments.outcomes(entries),
        breaches=breaches.recorded(entries),
        num_bytes=num_bytes,
    )


def outcomes(entries: Iterable[Entry], revisions: Sequence[Revision]) -> dict[int, ProposalOutcome]:
    """Return what was decided about each proposal, by its number.

    What came into force counts, also where it was refused before.

    Args:
        entries: Every record of the ledger.
        revisions: The revisions among them.
    """
    found = {
        entry.body["proposal"]: ProposalOutcome(
            number=entry.body["proposal"],
            step=entry.step,
            revision=None,
            changes=_changes(entry.body["changes"]),
            findings=_findings(entry.body["findings"]),
            digest=entry.body["digest"],
            **_kept(entry.body.get("details", {})),
        )
        for entry in entries
        if entry.kind is EntryKind.REFUSED and "proposal" in entry.body
    }
    for revision in revisions:
        if revision.kind is RevisionKind.PROPOSAL:
            said = revision.details["proposal"]
            found[said["number"]] = ProposalOutcome(
                number=said["number"],
                step=revision.step,
                revision=revision.number,
                changes=revision.changes,
                findings=_findings(revision.details["findings"]),
                digest=said["digest"],
                forced=revision.details.get("forced", {}).get("reason", ""),
                **_kept(revision.details),
            )
    return found


def _kept(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a line of the ledger keeps about worlds and the probe."""
    return {
        "worlds": tuple(details.get("worlds", ())),
        "difference": details.get("difference", ""),
        "probe": details.get("probe"),
    }


def _changes(records: Iterable[Mapping[str, Any]]) -> tuple[KnobChange, ...]:
    return tuple(KnobChange.from_json(record) for record in records)


def _findings(records: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    return tuple(Finding.from_json(record) for record in records)


def size(path: str | Path) -> int:
    """Return a ledger's size in bytes; 0 if it is not there."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
