"""Submissions: a proposal is judged, and then comes into force or is refused, each on the ledger.

The ledger decides what became of a proposal; the report beside it is made from the ledger's line
and can be made again at any time. Who asks, a running trainer or a command, makes no difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gate import rules
from gate.contract import (
    candidate,
    candidate_world,
    files,
    knobs,
    launch_record,
    ledger,
    proposal_reading,
    proposals,
    revisions,
)
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import ABSENT, KnobChange, Knobs
from gate.contract.ledger import Author, EntryKind, Revision, RevisionKind
from gate.contract.paths import RunPaths
from gate.contract.proposals import Otherwise, Proposal
from gate.guard import gathering, history, opening, staging, stale, way_back
from gate.guard.change import Change
from gate.guard.history import History
from gate.guard.looking import Trouble, look
from gate.guard.patching import Tried
from gate.guard.probing import Question, Report
from gate.guard.staging import Worlds
from gate.rules import world_knobs
from gate.rules.change_set import ChangeSet, Known, Position

OVERRULABLE = frozenset({"rules.difficulty"})
"""Findings that a person may overrule with a reason."""

FORCED = "forced"
"""The key under which the ledger keeps that reason."""


@dataclass(frozen=True)
class Judged:
    """A proposal with everything that stands for and against it."""

    number: int
    digest: str = ""
    """The sha256 of its file; empty if it could not be read."""
    proposal: Proposal | None = None
    """None if it could not be read."""
    changes: tuple[KnobChange, ...] = ()
    """What it would change, against what is in force."""
    findings: tuple[Finding, ...] = ()
    overruled: tuple[Finding, ...] = ()
    """Findings that a person set aside."""
    new: Knobs | None = field(default=None, repr=False)
    change: Change | None = field(default=None, repr=False)
    """What would be tested, once it passed; None for what takes a revision back."""
    worlds: Worlds = field(default=Worlds(), repr=False)
    """What it would do to the worlds."""
    question: Question | None = field(default=None, repr=False)
    """What a probe is to be asked about it; None if it changes no dialogue."""
    report: Report | None = field(default=None, repr=False)
    """What the probe answered."""
    patch: Tried | None = field(default=None, repr=False)
    """What became of the patch that it is about."""

    @property
    def passed(self) -> bool:
        """True when nothing stands against it."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    def answered(self, report: Report) -> Judged:
        """Return it with what a probe found."""
        return replace(self, findings=(*self.findings, *report.findings), report=report)

    def tried(self, patch: Tried) -> Judged:
        """Return it with what became of its patch in a scratch copy."""
        return replace(self, findings=(*self.findings, *patch.findings), patch=patch)

    def to_json(self) -> dict[str, Any]:
        """Return what the ledger keeps beside the proposal itself and the changes of knobs."""
        kept: dict[str, Any] = {}
        if self.worlds.changes:
            kept["worlds"] = self.worlds.names
            kept["difference"] = candidate_world.difference(self.worlds.changes)
        if self.report is not None:
            kept["probe"] = self.report.to_json()
        if self.patch is not None:
            kept["patch"] = self.patch.to_json()
        return kept

    def overrule(self) -> Judged:
        """Return it without the findings that a person may overrule."""
        kept = tuple(one for one in self.findings if one.rule not in OVERRULABLE)
        gone = tuple(one for one in self.findings if one.rule in OVERRULABLE)
        return replace(self, findings=kept, overruled=gone)


def judge(
    run: RunPaths,
    number: int,
    past: History,
    *,
    worlds: Sequence[str],
    step: int,
    success_history: Sequence[float],
    superseded: Mapping[int, int] | None = None,
    draft: bytes | None = None,
) -> Judged:
    """Ask every static rule about one proposal; nothing is written.

    Args:
        run: The run.
        number: The proposal's number.
        past: The run's ledger as it is now.
        worlds: Names of the run's worlds.
        step: The training step that would be the first under it.
        success_history: Mean success of the last training steps, oldest first.
        superseded: Later proposals by the number of the one that each replaces.
        draft: The bytes of a proposal that is not on file; None to read its file.

    Raises:
        proposal_reading.Unfinished: if its file may be half saved.
    """
    try:
        if draft is None:
            proposal = proposal_reading.load(run, number, worlds=worlds)
        else:
            proposal = proposal_reading.read(number, draft, worlds=worlds)
    except proposal_reading.Unfinished:
        raise
    except Refused as refused:
        return Judged(number, findings=refused.findings)
    judged = Judged(number, proposal.digest, proposal)
    current = past.knobs_by_revision[past.newest]
    try:
        changed = staging.read(run, past, proposal, worlds)
        changes, new = _changes(run, proposal, changed, current, past, worlds)
    except Refused as refused:
        return replace(judged, findings=refused.findings)
    later = (superseded or {}).get(number)
    if later is not None:
        message = f"Proposal {number} is superseded by proposal {later}."
        step_ = f"Look at what becomes of proposal {later}."
        flaw = _flaw(number, "superseded", message, step_)
        return replace(judged, changes=changes, new=new, findings=(flaw,))
    question = staging.question(run, past, proposal, new, changes, changed, names=worlds)
    judged = replace(judged, changes=changes, new=new, worlds=changed, question=question)
    known = gathering.gather(run, proposal, last_step=step - 1, worlds=worlds)
    change_set = replace(
        _change_set(judged, past, known, step, success_history),
        credit=launch_record.credit(run.root),
    )
    exempt = () if proposal.reverts is None else way_back.EXEMPT_FROM
    judged = replace(judged, findings=rules.check(change_set, exempt=exempt))
    if not judged.passed or proposal.reverts is not None:
        return judged
    change = Change(past.newest, current, new, changes, changed.moved, proposal=proposal.to_json())
    refuse = proposal.if_underpowered is Otherwise.REFUSE
    told = opening.doubts(run, past, change, step=step, refuse=refuse)
    return replace(judged, findings=(*judged.findings, *told), change=change)


def _change_set(
    judged: Judged, past: History, known: Known, step: int, success_history: Sequence[float]
) -> ChangeSet:
    """Return a proposal that could be read as the rules see it."""
    assert judged.proposal is not None and judged.new is not None
    return ChangeSet(
        old=past.knobs_by_revision[past.newest],
        new=judged.new,
        changes=judged.changes,
        worlds=judged.worlds.changes,
        world_moves=[move for one in judged.worlds.changes for move in world_knobs.moves(one)],
        author=Author.META_AGENT,
        reason=judged.proposal.why,
        step=step,
        success_history=success_history,
        last_written=past.since_step(past.newest),
        positions={
            path: Position(proposals.name_of(judged.number), place.line, place.column)
            for path, place in judged.proposal.positions.items()
        },
        proposal=judged.proposal,
        windows=past.windows(step),
        known=known,
    )


def bring_into_force(
    run: RunPaths, judged: Judged, *, step: int, now: float, forced: str = ""
) -> Revision:
    """Commit a proposal that passed; its knob files keep their comments.

    Args:
        run: The run, whose lock the caller holds.
        judged: The proposal, passed, and probed where it changes a world.
        step: The first training step under it.
        now: Seconds since 1970.
        forced: Why a person overruled findings; empty if nobody did.

    Raises:
        Refused: if a knob file to write holds an edit that nobody has looked at.
        files.DiskFull: if there is no room.
    """
    if judged.proposal is None or not judged.passed:
        raise ValueError(f"proposal {judged.number} has not passed; judge it first")
    if judged.worlds.changes and judged.report is None:
        raise ValueError(f"proposal {judged.number} changes a world; probe it first")
    if judged.proposal.patch and judged.patch is None:
        raise ValueError(f"proposal {judged.number} is about a patch; try it first")
    details: dict[str, Any] = {
        "proposal": judged.proposal.to_json(),
        "findings": [finding.to_json() for finding in judged.findings],
        **judged.to_json(),
    }
    if judged.overruled:
        details[FORCED] = {
            "reason": forced,
            "overruled": [finding.to_json() for finding in judged.overruled],
        }
    if judged.proposal.reverts is not None:
        details["reverts"] = judged.proposal.reverts
    # The caller holds the run's lock, so this number is the one that the commit will give.
    number = ledger.next_revision(run.ledger)
    made = revisions.commit(
        run,
        {**edited_files(run, judged.changes), **staging.files_of(judged.worlds, number)},
        author=Author.META_AGENT,
        reason=judged.proposal.why,
        kind=RevisionKind.PROPOSAL,
        changes=judged.changes,
        step=step,
        now=now,
        details=details,
        world=number if judged.worlds.changes else judged.worlds.older,
    )
    write_reports(run, {judged.number})
    return made


def refuse(run: RunPaths, judged: Judged, *, revision: int, step: int, now: float) -> None:
    """Put the refusal of a proposal on the ledger and its report beside it.

    Args:
        run: The run, whose lock the caller holds.
        judged: The proposal, not passed.
        revision: The revision in force.
        step: The training step about to begin.
        now: Seconds since 1970.

    Raises:
        files.DiskFull: if there is no room.
    """
    body: dict[str, Any] = {
        "proposal": judged.number,
        "digest": judged.digest,
        "revision": revision,
        "changes": [change.to_json() for change in judged.changes],
        "findings": [finding.to_json() for finding in judged.findings],
        "details": judged.to_json(),
    }
    ledger.append(run.ledger, EntryKind.REFUSED, body, step=step, now=now)
    write_reports(run, {judged.number})


def decide(run: RunPaths, judged: Judged, *, revision: int, step: int, now: float) -> None:
    """Bring a proposal into force if it passed, and refuse it if it did not.

    Args:
        run: The run, whose lock the caller holds.
        judged: The proposal.
        revision: The revision in force.
        step: The training step about to begin.
        now: Seconds since 1970.

    Raises:
        Refused: if a knob file to write holds an edit that nobody has looked at; nothing is
            decided then.
        files.DiskFull: if there is no room.
    """
    if judged.passed:
        bring_into_force(run, judged, step=step, now=now)
    else:
        refuse(run, judged, revision=revision, step=step, now=now)


def edited_files(run: RunPaths, changes: Sequence[KnobChange]) -> dict[str, bytes]:
    """Return the bytes of each knob file with some changes in it, by its path within the run.

    Raises:
        Refused: if a file cannot be read or edited.
    """
    contents: dict[str, bytes] = {}
    for name in knobs.FILES:
        mine = [change for change in changes if change.path.partition(".")[0] == name]
        if not mine:
            continue
        content = look(os.fspath(run.knob_file(name)))
        if isinstance(content, Trouble):
            raise Refused([knobs.unreadable_file(run.knob_file(name), content.error)])
        contents[f"knobs/{name}.yaml"] = knobs.edit(name, content, mine)
    return contents


def write_reports(run: RunPaths, wanted: Collection[int]) -> None:
    """Write the reports of some proposals, as the ledger has them, where there is a place.

    Raises:
        files.DiskFull: if there is no room.
    """
    if run.proposals.is_symlink() or not run.proposals.is_dir():
        return  # no folder of the run's own: the ledger alone tells
    known = history.outcomes(ledger.entries(run.ledger), ledger.revisions(run.ledger))
    for number in wanted:
        content = json.dumps(known[number].to_json(), ensure_ascii=False, indent=2) + "\n"
        files.write_whole(run.report(number), content.encode())


def _changes(
    run: RunPaths,
    proposal: Proposal,
    changed: Worlds,
    current: Knobs,
    past: History,
    worlds: Sequence[str],
) -> tuple[tuple[KnobChange, ...], Knobs]:
    """Return what a proposal changes and the knobs as they would be.

    Raises:
        Refused: if it changes nothing, its candidate files are not valid, or they are an old
            copy that would undo a newer revision; or the revision to take back cannot be.
    """
    if proposal.patch:
        return (), current
    if proposal.reverts is not None:
        asked = way_back.changes(past, proposal.reverts)
    elif proposal.changes is None:
        asked = candidate.changes(run, current, worlds=worlds)
        undone = [
            finding
            for name in knobs.FILES
            for finding in stale.check(
                f"{candidate.FOLDER}/{name}.yaml",
                [change for change in asked if change.path.startswith(f"{name}.")],
                past.revisions,
            )
        ]
        if undone:
            raise Refused(undone)
    else:
        asked = [KnobChange(path, ABSENT, new) for path, new in proposal.changes.items()]
    new = knobs.apply(current, asked)
    changes = knobs.diff(current, new)
    if not changes and not changed.moved:
        what = "knob" if proposal.worlds is None else "knob and no file of a world"
        message = f"Proposal {proposal.number} changes no {what}: every value is in force already."
        step = "Name new values under changes, or edit candidate/knobs/ or candidate/world/."
        raise Refused([_flaw(proposal.number, "no-change", message, step)])
    return changes, new


def _flaw(number: int, rule: str, message: str, next_step: str) -> Finding:
    name = proposals.name_of(number)
    return Finding(f"proposal.{rule}", Severity.ERROR, message, next_step, file=name)
