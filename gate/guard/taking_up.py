"""Taking up proposals: in the order of their numbers, each under what the one before left in force.

One that may be half saved does not count yet and is looked at again; every other one is decided.
What is decided is on the ledger, so that no number is decided twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from gate.contract import proposal_reading, proposals
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.paths import RunPaths
from gate.guard import history, staging, submission
from gate.guard.history import History
from gate.guard.probing import Prober
from gate.guard.status import ProposalOutcome
from gate.guard.submission import Judged
from gate.guard.trials import Trials

_PATCH = "guard.patch"

MOST_AT_ONCE = 8
"""Proposals that are decided at one step boundary; the rest waits for the next."""


@dataclass(frozen=True)
class TakenUp:
    """What one look at the proposals led to."""

    past: History
    """The ledger after it."""
    outcomes: tuple[ProposalOutcome, ...] = ()
    waiting: tuple[Finding, ...] = ()
    """Why some proposals do not count yet."""
    complete: bool = True
    """False when proposals are left that another look may decide."""


def take_up(
    run: RunPaths,
    past: History,
    names: Collection[str],
    *,
    worlds: tuple[str, ...],
    step: int,
    success_history: Sequence[float],
    now: float,
    trials: Trials,
    prober: Prober | None = None,
) -> TakenUp:
    """Decide about the proposals of a run that nothing was decided about; under the run's lock.

    Args:
        run: The run; no edit of its knob files waits to be looked at.
        past: Its ledger.
        names: What its folder of proposals holds.
        worlds: Names of the run's worlds.
        step: The training step about to begin.
        success_history: Mean success of the last training steps, oldest first.
        now: Seconds since 1970.
        trials: The run's tests; one is opened for each change that comes into force.
        prober: Probes what the rules let pass; None where nothing does.

    Raises:
        files.DiskFull: if there is no room; what was decided before stays so.
    """
    known = set(names)
    _mend_reports(run, past, known)
    pending = [number for number in proposals.numbers(known) if number not in past.outcomes]
    superseded = _superseded(run, pending, worlds)
    decided: list[int] = []
    waiting: list[Finding] = []
    for number in pending:
        if len(decided) == MOST_AT_ONCE:
            break
        try:
            judged = submission.judge(
                run,
                number,
                past,
                worlds=worlds,
                step=step,
                success_history=success_history,
                superseded=superseded,
            )
            held = _held(judged, past, trials)
            if held is not None:
                waiting.append(replace(held, file=proposals.name_of(number)))
                continue
            answered = _probe(judged, prober)
            if answered is None:
                # Those behind it are judged over what this one leaves in force.
                waiting.append(_being_probed(number))
                break
            judged = answered
            submission.decide(run, judged, revision=past.newest, step=step, now=now)
        except Refused as refused:
            # Half saved, or in the way of an edit that was made this very moment: not its fault.
            waiting += [replace(one, severity=Severity.WARNING) for one in refused.findings]
            continue
        decided.append(number)
        past = history.read(run.ledger, worlds=worlds, known=past)
        past = trials.open(past, step, now)
    # Nothing but a person's command decides about a patch: no look is owed to it.
    patches = sum(finding.rule == _PATCH for finding in waiting)
    return TakenUp(
        past=past,
        outcomes=tuple(past.outcomes[number] for number in decided),
        waiting=tuple(waiting),
        complete=len(decided) + patches == len(pending),
    )


def _probe(judged: Judged, prober: Prober | None) -> Judged | None:
    """Return a proposal with what a probe found, where one is to be asked; None as long as it runs.

    Without a prober the rules alone decide about knobs, and no world changes.
    """
    if not judged.passed or judged.question is None:
        return judged
    if prober is not None:
        report = prober.ask(judged.question)
        return None if report is None else judged.answered(report)
    if judged.worlds.changes:
        return replace(judged, findings=(*judged.findings, staging.unprobed(judged.number)))
    return judged


def _held(judged: Judged, past: History, trials: Trials) -> Finding | None:
    """Return why a proposal that passed is not decided about now; None if nothing holds it."""
    if not judged.passed or judged.proposal is None:
        return None
    if not judged.proposal.patch:
        return trials.clash(past, judged.change) if judged.change else None
    message = f"Proposal {judged.number} is about a patch of the code: no live run takes it up."
    step = f"Run `gate apply RUN {judged.number}`, which tests it, and restart."
    return Finding(_PATCH, Severity.WARNING, message, step)


def _being_probed(number: int) -> Finding:
    message = f"Proposal {number} is being probed beside the training."
    step = "Wait: it is decided at the start of a step."
    name = proposals.name_of(number)
    return Finding("guard.probing", Severity.WARNING, message, step, file=name)


def _mend_reports(run: RunPaths, past: History, names: Collection[str]) -> None:
    """Write the reports that a crash between ledger and report left out."""
    missing = [number for number in past.outcomes if run.report(number).name not in names]
    if missing:
        submission.write_reports(run, missing)


def _superseded(run: RunPaths, pending: Sequence[int], worlds: Sequence[str]) -> dict[int, int]:
    """Return the later proposal by the number of the one that it replaces."""
    found: dict[int, int] = {}
    for number in pending:
        with contextlib.suppress(Refused):
            replaced = proposal_reading.load(run, number, worlds=worlds).supersedes
            if replaced is not None:
                found[replaced] = number
    return found
