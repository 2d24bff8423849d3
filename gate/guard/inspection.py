"""Inspection: what the guard would say about knob files, without bringing anything into force.

It takes no lock and writes nothing, so that anybody may ask at any time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate import rules
from gate.contract import candidate_world, files, knobs, ledger
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import KnobChange, Knobs
from gate.contract.paths import RunPaths
from gate.effects import anchors
from gate.guard import desired, history, intact, submission
from gate.guard.looking import look
from gate.guard.probing import Prober
from gate.guard.status import KnobStatus
from gate.guard.submission import Judged
from gate.rules.change_set import ChangeSet
from gate.rules.difficulty import WINDOW


@dataclass(frozen=True)
class Inspection:
    """What was found."""

    target: str
    """The run or directory that was looked at."""
    findings: tuple[Finding, ...] = ()
    changes: tuple[KnobChange, ...] = ()
    """For a run: what its files would change at the next step boundary."""
    revision: int | None = None
    """For a run: the revision in force."""
    difference: str = ""
    """For a proposal: how files of worlds would differ."""
    probe: Mapping[str, Any] | None = None
    """For a proposal: what a probe measured; None where none was asked."""

    @property
    def passed(self) -> bool:
        """True when nothing stands against the files."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)


@dataclass(frozen=True)
class Evidence:
    """What a run's step records say to the rules."""

    step: int
    """The last finished step."""
    success_history: tuple[float, ...]
    """Mean success of the anchors of the last steps that had any, oldest first."""


def evidence(run: RunPaths) -> Evidence:
    """Read the evidence that the rules may use from a run's last step records."""
    lines = files.tail(run.steps, (anchors.LONGEST_GAP + 1) * WINDOW).records
    records = [line for line in lines if isinstance(line.get("step"), int)]
    known = anchors.mastery([record.get("anchor_success") for record in records])
    return Evidence(step=records[-1]["step"] if records else 0, success_history=known[-WINDOW:])


def judged_now(
    run: RunPaths,
    number: int,
    past: history.History,
    *,
    worlds: Sequence[str],
    draft: bytes | None = None,
) -> Judged:
    """Ask the rules about one proposal as it stands at the next step boundary.

    Args:
        run: The run.
        number: The proposal's number.
        past: What the run's ledger tells.
        worlds: Names of the run's worlds.
        draft: The bytes of a proposal that is not on file; None to read its file.

    Raises:
        proposal_reading.Unfinished: if its file may be half saved.
    """
    seen = evidence(run)
    return submission.judge(
        run,
        number,
        past,
        worlds=worlds,
        step=seen.step + 1,
        success_history=seen.success_history,
        draft=draft,
    )


def inspect_run(run: RunPaths, *, worlds: Sequence[str]) -> Inspection:
    """Say what the next step boundary would make of a run's knob files.

    Args:
        run: The run; its ledger begins with a launch.
        worlds: Names of the run's worlds.
    """
    target = os.fspath(run.root)
    try:
        past = history.read(run.ledger, worlds=tuple(worlds))
    except ledger.Damaged as error:
        return Inspection(target, (_untrusted(error),))
    contents = {f"knobs/{name}.yaml": look(os.fspath(run.knob_file(name))) for name in knobs.FILES}
    want = desired.read(contents, past.digests, worlds=worlds, folder=run.knobs)
    edited = intact.check(run, past)
    if want.findings or not want.edited:
        return Inspection(target, (*want.findings, *edited), revision=past.newest)
    seen = evidence(run)
    status = KnobStatus(past.knobs_by_revision[past.newest], past.newest)
    judgement = desired.judge(
        want, status, past, step=seen.step + 1, success_history=seen.success_history
    )
    findings = (*judgement.findings, *edited)
    return Inspection(target, findings, judgement.changes, past.newest)


def inspect_proposal(
    run: RunPaths,
    number: int,
    *,
    worlds: Sequence[str],
    draft: bytes | None = None,
    prober: Prober | None = None,
) -> Inspection:
    """Say what the next step boundary would make of one proposal, decided about or not.

    Args:
        run: The run; its ledger begins with a launch.
        number: The proposal's number.
        worlds: Names of the run's worlds.
        draft: The bytes of a proposal that is not on file; None to read its file.
        prober: Probes what the rules let pass, and is waited for; None to ask the rules alone.
    """
    target = os.fspath(run.proposal(number))
    try:
        past = history.read(run.ledger, worlds=tuple(worlds))
    except ledger.Damaged as error:
        return Inspection(target, (_untrusted(error),))
    try:
        judged = judged_now(run, number, past, worlds=worlds, draft=draft)
    except Refused as unfinished:
        return Inspection(target, unfinished.findings, revision=past.newest)
    if judged.passed and judged.question is not None and prober is not None:
        judged = judged.answered(prober.wait(judged.question))
    return Inspection(
        target,
        judged.findings,
        judged.changes,
        past.newest,
        difference=candidate_world.difference(judged.worlds.changes),
        probe=None if judged.report is None else judged.report.to_json(),
    )


def inspect_directory(directory: Path, *, worlds: Sequence[str]) -> Inspection:
    """Check a set of knob files that no run watches, such as the repository's starting set.

    Args:
        directory: Holds `user.yaml` and the others.
        worlds: Names of all worlds that the files may name.
    """
    try:
        values = knobs.load(directory, worlds=worlds)
    except Refused as refused:
        return Inspection(os.fspath(directory), refused.findings)
    return Inspection(os.fspath(directory), inspect_values(values))


def inspect_values(values: Knobs) -> tuple[Finding, ...]:
    """Check a complete set of values that no run has in force yet, as a launch does."""
    return rules.check(ChangeSet(new=values))


def _untrusted(error: ledger.Damaged) -> Finding:
    step = "Restore the ledger from a copy, or start a new run."
    return Finding("gate.ledger", Severity.ERROR, f"{error}.", step, file="ledger.jsonl")
