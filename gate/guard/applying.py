"""What a person asks for about proposals and revisions: apply one, take one back.

Both go through the same rules and the same transaction as everything else, under the run's lock,
whether or not a trainer is running. Neither writes over an edit that nobody has looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from gate import rules
from gate.contract import files, knobs, proposals, revisions
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.ledger import Author, Revision, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import history, patching, staging, submission, way_back
from gate.guard.history import History
from gate.guard.inspection import evidence, judged_now
from gate.guard.patching import Tried
from gate.guard.probing import Prober, Report
from gate.guard.submission import Judged
from gate.rules.change_set import ChangeSet


def apply(
    run: RunPaths,
    number: int,
    *,
    worlds: Sequence[str],
    now: float,
    timeout_s: float,
    forced: str = "",
    prober: Prober | None = None,
) -> tuple[Revision, tuple[Finding, ...]]:
    """Bring one proposal into force, also one that was refused before; returns what is doubtful.

    A draft becomes a proposal by this, if it passes. It is probed first, while a trainer goes on.

    Args:
        run: The run.
        number: The proposal's number.
        worlds: Names of the run's worlds.
        now: Seconds since 1970.
        timeout_s: How long to wait for the run's lock, in seconds.
        forced: Why difficulty is overruled; empty if it is not.
        prober: Probes what the rules let pass, and is waited for; without one the rules alone
            decide about knobs, and no proposal changes a world.

    Raises:
        Refused: with every finding; nothing was written.
        files.LockBusy: if another process keeps the run's lock.
        ledger.Damaged: if the run's ledger cannot be trusted.
    """
    probed: dict[str, Report] = {}
    patch: Tried | None = None
    asked = _judged(run, number, history.read(run.ledger, worlds=tuple(worlds)), worlds, forced)
    if asked.passed and asked.question is not None and prober is not None:
        probed[asked.question.key] = prober.wait(asked.question)
    if asked.passed and asked.proposal is not None and asked.proposal.patch:
        patch = patching.attempt(run, number)
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
        judged = _judged(run, number, past, worlds, forced)
        if judged.passed and judged.question is not None:
            judged = _answered(judged, probed, prober)
        if judged.passed and patch is not None:
            judged = judged.tried(patching.fits(patch))
        if not judged.passed:
            raise Refused(judged.findings)
        if proposals.read_draft(run, number) is not None:
            proposals.release(run, number)
        step = evidence(run).step + 1
        made = submission.bring_into_force(run, judged, step=step, now=now, forced=forced)
        if patch is not None:
            patching.bring_in(patch)
        return made, judged.findings


def _judged(
    run: RunPaths, number: int, past: History, worlds: Sequence[str], forced: str
) -> Judged:
    """Ask the rules about a proposal as it stands at this moment."""
    draft = proposals.read_draft(run, number)
    judged = judged_now(run, number, past, worlds=worlds, draft=draft)
    return judged.overrule() if forced else judged


def _answered(judged: Judged, probed: Mapping[str, Report], prober: Prober | None) -> Judged:
    """Return a proposal with the answer to what is to be asked about it now.

    Raises:
        Refused: if it is another question than the one that was answered.
    """
    assert judged.question is not None
    report = probed.get(judged.question.key)
    if report is not None:
        return judged.answered(report)
    if prober is not None:
        _refuse(
            "probe.other",
            f"Proposal {judged.number}, or what is in force, changed while it was probed.",
            "Try again.",
        )
    if not judged.worlds.changes:
        return judged
    raise Refused([staging.unprobed(judged.number)])


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
        return take_back(
            run,
            _past(run, worlds, now),
            number,
            author=Author.UNATTRIBUTED,
            reason=reason,
            step=evidence(run).step + 1,
            now=now,
        )


def take_back(
    run: RunPaths,
    past: History,
    number: int,
    *,
    author: Author,
    reason: str,
    step: int,
    now: float,
    details: Mapping[str, Any] | None = None,
) -> Revision:
    """Take one revision back, whoever wants it; the caller holds the run's lock.

    Args:
        run: The run.
        past: Its ledger as it is now.
        number: The revision's number.
        author: Who wants it.
        reason: Why, in a sentence.
        step: The first training step without it.
        now: Seconds since 1970.
        details: What the ledger keeps beside the number.

    Raises:
        Refused: with every finding; nothing was written.
    """
    current = past.knobs_by_revision[past.newest]
    wanted = way_back.changes(past, number)
    new = knobs.apply(current, wanted)
    changes = knobs.diff(current, new)
    world = way_back.world(past, number)
    findings = rules.check(
        ChangeSet(
            old=current,
            new=new,
            changes=changes,
            author=Author.UNATTRIBUTED,
            reason=reason,
            step=step,
            last_written=past.since_step(past.newest),
        ),
        exempt=way_back.EXEMPT_FROM,
    )
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise Refused(findings)
    return revisions.commit(
        run,
        submission.edited_files(run, changes),
        author=author,
        reason=reason,
        kind=RevisionKind.REVERT,
        changes=changes,
        step=step,
        now=now,
        details={"reverts": number, **(details or {})},
        world=world,
    )


def _past(run: RunPaths, worlds: Sequence[str], now: float) -> History:
    revisions.recover(run, now=now)
    return history.read(run.ledger, worlds=tuple(worlds))


def _refuse(rule: str, message: str, next_step: str, *, file: str | None = None) -> NoReturn:
    raise Refused([Finding(rule, Severity.ERROR, message, next_step, file=file)])
