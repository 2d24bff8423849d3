"""Twins: two runs from one checkpoint which differ in the values of one proposal and nothing else.

What they differ in follows from the parent's ledger; what they showed is judged here and told on
the parent's ledger. How such runs are made and trained is the trainer's business.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gate.contract import experiments, files, knobs, ledger, revisions
from gate.contract.experiments import Outcome
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import Knobs
from gate.contract.ledger import Author, EntryKind, RevisionKind
from gate.contract.paths import RunPaths
from gate.effects import anchors, estimate, noise, series, verdicts
from gate.effects.designs import SHORTEST_WINDOW, Declaration, Design
from gate.effects.effect import Effect
from gate.effects.series import Point
from gate.effects.verdicts import Evidence, Judgement
from gate.guard import applying, history, noticing, opening
from gate.guard.change import Change, change_of
from gate.guard.inspection import evidence, judged_now
from gate.guard.noticing import Found

BEARABLE = frozenset({"rules.pace"})
"""Findings that do not matter to twins: they disturb no window of their parent."""


@dataclass(frozen=True)
class Pair:
    """What two twins differ in."""

    proposal: int
    revision: int
    """The revision that brought it into force; the one in force if none did."""
    in_force: bool
    """Whether that revision is the proposal's."""
    change: Change
    launch: Knobs
    """The values of the parent's launch, which anchors are played under."""
    world: int
    """The folder of worlds that both play in."""


def pair(run: RunPaths, number: int, *, worlds: Sequence[str]) -> Pair:
    """Return what the twins of a proposal differ in.

    Args:
        run: The parent.
        number: The proposal, in force or passing the rules.
        worlds: Names of the run's worlds.

    Raises:
        Refused: if the rules refuse it, or it changes more than knobs.
        ledger.Damaged: if the parent's ledger cannot be trusted.
    """
    past = history.read(run.ledger, worlds=tuple(worlds))
    known = past.outcomes.get(number)
    if known is not None and known.revision is not None:
        (made,) = (one for one in past.revisions if one.number == known.revision)
        change, revision, world = change_of(past, made), made.number, past.world(made.base)
    else:
        judged = judged_now(run, number, past, worlds=worlds)
        against = [one for one in judged.findings if one.severity is Severity.ERROR]
        if judged.new is None or any(one.rule not in BEARABLE for one in against):
            raise Refused(against)
        current = past.knobs_by_revision[past.newest]
        moves = bool(judged.worlds.changes)
        change = Change(past.newest, current, judged.new, judged.changes, moves)
        revision, world = past.newest, past.world(past.newest)
    if change.moves_worlds or not change.moved:
        message = f"Proposal {number} moves no knob that is meant to move success, or a world."
        step = "Twins compare values of knobs; a world is compared by concurrent arms."
        raise Refused([Finding("twins.no-knob", Severity.ERROR, message, step)])
    in_force = known is not None and known.revision is not None
    return Pair(number, revision, in_force, change, past.knobs_by_revision[0], world)


def launch(run: RunPaths, found: Pair, values: Knobs, *, step: int, now: float) -> int:
    """Give a twin its ledger and knob files: the parent's launch, then its own values at once.

    Args:
        run: The twin; its folder holds the parent's worlds.
        found: What the twins differ in.
        values: The values of this twin.
        step: The first training step of its own.
        now: Seconds since 1970.

    Returns:
        The revision that its own values are in force under.
    """
    contents = {f"knobs/{name}.yaml": knobs.render(name, found.launch) for name in knobs.FILES}
    reason = f"twin of proposal {found.proposal}"
    revisions.launch(run, contents, found.launch, author=Author.GATE, reason=reason, now=now)
    revisions.commit(
        run,
        {f"knobs/{name}.yaml": knobs.render(name, values) for name in knobs.FILES},
        author=Author.GATE,
        reason=reason,
        # Apparatus: no rule is asked and no test opens, or it would split the twin's batches.
        kind=RevisionKind.PLANTED,
        changes=knobs.diff(found.launch, values),
        step=step,
        now=now,
        world=found.world,
    )
    return 1


def judge(found: Pair, old: Sequence[Point], new: Sequence[Point], *, first: int) -> Judgement:
    """Return what two twins say about the values they differ in.

    Args:
        found: What they differ in.
        old: The steps of the twin under the old values.
        new: Those of the other.
        first: The first step of their own.
    """
    lag = found.change.lag
    steps = range(first + lag, 1 + max((point.step for point in new), default=first))
    mine, theirs = series.within(old, steps), series.within(new, steps)
    declared = Declaration(
        Design.FORKED_TWINS, opened=first, window=max(len(steps), SHORTEST_WINDOW), lag=lag
    )
    # One pair is judged once, when all its steps are there.
    seen = Evidence(declared.horizon, effect=_success(mine, theirs))
    told = _difference(series.anchor_success(theirs), series.anchor_success(mine))
    return anchors.bounded(
        verdicts.decide(declared, seen), declared, ease=opening.ease(found.change), anchors=told
    )


def conclude(
    run: RunPaths,
    found: Pair,
    twins: tuple[RunPaths, RunPaths],
    *,
    first: int,
    worlds: Sequence[str],
    now: float,
    timeout_s: float = 10.0,
) -> Outcome:
    """Judge two twins and tell it on their parent's ledger; what harms there is taken back.

    Args:
        run: The parent.
        found: What the twins differ in.
        twins: The twin under the old values and the one under the new.
        first: The first step of their own.
        worlds: Names of the run's worlds.
        now: Seconds since 1970.
        timeout_s: How long to wait for the parent's lock, in seconds.

    Raises:
        files.LockBusy: if another process keeps the parent's lock.
        Refused: if what harms cannot be taken back yet; nothing was written.
    """
    old, new = (series.points(files.read_lines(twin.steps).records) for twin in twins)
    judgement = judge(found, old, new, first=first)
    last = max((point.step for point in new), default=first)
    with files.run_lock(run.root, purpose="a verdict of twins", timeout_s=timeout_s):
        revisions.recover(run, now=now)
        past = history.read(run.ledger, worlds=tuple(worlds))
        step = evidence(run).step + 1
        told = Found(None, found.revision, judgement, last)
        body: dict[str, Any] = {
            **noticing.body(past, told),
            "proposal": found.proposal,
            "design": Design.FORKED_TWINS.value,
            "window": [first + found.change.lag, last],
        }
        if found.in_force and noticing.takes_back(past, told):
            made = applying.take_back(
                run,
                past,
                found.revision,
                author=Author.GATE,
                reason=f"{judgement.verdict.value}: {judgement.because}",
                step=step,
                now=now,
                details={"outcome": body},
            )
            body["rolled_back_by"] = made.number
        ledger.append(run.ledger, EntryKind.OUTCOME, body, step=step, now=now)
        return experiments.outcomes(ledger.entries(run.ledger))[-1]


def _success(old: Sequence[Point], new: Sequence[Point]) -> Effect | None:
    try:
        arms = series.comparable_arms(old, new)
    except ValueError:
        return None
    return _difference(series.success(new, arms), series.success(old, arms), _least_sd(old, new))


def _difference(
    new: Sequence[series.Value], old: Sequence[series.Value], least_sd: float = 0.0
) -> Effect | None:
    found = series.numbers(series.paired(new, old))
    return estimate.twins(found, least_sd=least_sd) if len(found) >= SHORTEST_WINDOW else None


def _least_sd(old: Sequence[Point], new: Sequence[Point]) -> float:
    """Return the least noise of a step's difference: half that of independent episodes.

    Both play the same tasks with the same seeds, so a part of the noise is shared.
    """
    shares = [share for point in (*old, *new) for share in point.arms.values()]
    success = statistics.fmean(share.success for share in shares)
    episodes = statistics.fmean(sum(s.episodes for s in point.arms.values()) for point in old)
    return noise.difference_sd(min(max(success, 0.05), 0.95), episodes, episodes) / 2


def as_one_revision(record: dict[str, Any], revision: int) -> dict[str, Any]:
    """Return a parent's step record as one of a twin, which has one revision of its own."""
    single: dict[str, Any] = {"revision": revision, "old_revision": None, "test": None, "sides": {}}
    return {**record, **{name: value for name, value in single.items() if name in record}}
