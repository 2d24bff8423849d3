"""What a person asks for about proposals and revisions: apply one, take one back.

Both go through the same rules and the same transaction as everything else, under the run's lock,
whether or not a trainer is running. Neither writes over an edit that nobody has looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from gate import rules
from gate.contract import files, knobs, proposals, revisions
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import ABSENT, KnobChange
from gate.contract.ledger import Author, Revision, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import history, submission
from gate.guard.history import History
from gate.guard.inspection import evidence
from gate.rules.change_set import ChangeSet

EXEMPT_FROM = ("difficulty", "pace")
"""Rules that are not asked when a change is taken back."""


def apply(
    run: RunPaths,
    number: int,
    *,
    worlds: Sequence[str],
    now: float,
    timeout_s: float,
    forced: str = "",
) -> tuple[Revision, tuple[Finding, ...]]:
    """Bring one proposal into force, also one that was refused before; returns what is doubtful.

    A draft becomes a proposal by this, if it passes.

    Args:
        run: The run.
        number: The proposal's number.
        worlds: Names of the run's worlds.
        now: Seconds since 1970.
        timeout_s: How long to wait for the run's lock, in seconds.
        forced: Why difficulty is overruled; empty if it is not.

    Raises:
        Refused: with every finding; nothing was written.
        files.LockBusy: if another process keeps the run's lock.
        ledger.Damaged: if the run's ledger cannot be trusted.
    """
    with files.run_lock(run.root, purpose=f"gate apply {number}", timeout_s=timeout_s):
        past = _past(run, worlds, now)
        known = past.outcomes.get(number)
        if known is not None and known.revision is not None:
            message = f"Proposal {number} is in force since step {known.step}"
            _refuse(
                "proposal.decided",
                f"{message} (revision {known.revision}).",
                "Submit a new one to bring its values back after a revert.",
                file=proposals.name_of(number),
            )
        seen = evidence(run)
        draft = proposals.read_draft(run, number)
        judged = submission.judge(
            run,
            number,
            past,
            worlds=worlds,
            step=seen.step + 1,
            success_history=seen.success_history,
            draft=draft,
        )
        if forced:
            judged = judged.overrule()
        if not judged.passed:
            raise Refused(judged.findings)
        if draft is not None:
            proposals.release(run, number)
        made = submission.bring_into_force(run, judged, step=seen.step + 1, now=now, forced=forced)
        return made, judged.findings


def revert(
    run: RunPaths,
    number: int,
    *,
    reason: str,
    worlds: Sequence[str],
    now: float,
    timeout_s: float,
) -> Revision:
    """Take one revision back and nothing else: the knobs that it moved go back where it says.

    Args:
        run: The run.
        number: The revision's number.
        reason: Why, in a sentence.
        worlds: Names of the run's worlds.
        now: Seconds since 1970.
        timeout_s: How long to wait for the run's lock, in seconds.

    Raises:
        Refused: with every finding; nothing was written.
        files.LockBusy: if another process keeps the run's lock.
        ledger.Damaged: if the run's ledger cannot be trusted.
    """
    with files.run_lock(run.root, purpose=f"gate revert {number}", timeout_s=timeout_s):
        past = _past(run, worlds, now)
        current = past.knobs_by_revision[past.newest]
        wanted = _way_back(past, number)
        new = knobs.apply(current, wanted)
        changes = knobs.diff(current, new)
        world = _world_back(past, number)
        seen = evidence(run)
        findings = rules.check(
            ChangeSet(
                old=current,
                new=new,
                changes=changes,
                author=Author.UNATTRIBUTED,
                reason=reason,
                step=seen.step + 1,
                last_written=past.since_step(past.newest),
            ),
            exempt=EXEMPT_FROM,
        )
        if any(finding.severity is Severity.ERROR for finding in findings):
            raise Refused(findings)
        return revisions.commit(
            run,
            submission.edited_files(run, changes),
            author=Author.UNATTRIBUTED,
            reason=reason,
            kind=RevisionKind.REVERT,
            changes=changes,
            step=seen.step + 1,
            now=now,
            details={"reverts": number},
            world=world,
        )


def _past(run: RunPaths, worlds: Sequence[str], now: float) -> History:
    revisions.recover(run, now=now)
    return history.read(run.ledger, worlds=tuple(worlds))


def _way_back(past: History, number: int) -> list[KnobChange]:
    """Return the changes that take a revision back.

    Raises:
        Refused: if there is no such revision to take back, or a later one moved its knobs.
    """
    found = [one for one in past.revisions if one.number == number and number > 0]
    back = [one for one in past.revisions if one.details.get("reverts") == number]
    if not found or back:
        message = (
            f"Revision {number} was taken back by revision {back[0].number}."
            if back
            else f"There is no revision {number} to take back; they are 1 to {past.newest}."
        )
        _refuse("revert.none", message, "See `gate log` for what is in force.")
    newest = {
        change.path: (change.new, one.number) for one in past.revisions for change in one.changes
    }
    for change in found[0].changes:
        value, moved_by = newest[change.path]
        if value != change.new:
            _refuse(
                "revert.later",
                f"{change.path} was moved again by revision {moved_by}, so revision {number} "
                "cannot be taken back alone.",
                f"Take revision {moved_by} back first, or set {change.path} by itself.",
            )
    named = found[0].details.get("proposal", {}).get("way_back", {})
    return [
        KnobChange(change.path, ABSENT, named.get(change.path, change.old))
        for change in found[0].changes
    ]


def _world_back(past: History, number: int) -> int | None:
    """Return the folder of worlds that was in force before a revision; None if it moved none.

    Raises:
        Refused: if a later revision brought other worlds.
    """
    moved = {one.number: one.world for one in past.revisions if one.world != past.world(one.base)}
    if number not in moved:
        return None
    latest = max(moved)
    if moved[latest] != moved[number]:
        _refuse(
            "revert.later",
            f"The worlds were moved again by revision {latest}, so revision {number} cannot be "
            "taken back alone.",
            f"Take revision {latest} back first.",
        )
    return next(past.world(one.base) for one in past.revisions if one.number == number)


def _refuse(rule: str, message: str, next_step: str, *, file: str | None = None) -> NoReturn:
    raise Refused([Finding(rule, Severity.ERROR, message, next_step, file=file)])
