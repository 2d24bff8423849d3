"""Noticing: what is to be told about a run's changes, from its ledger and its step records.

Pure functions of what is on file, so that whoever asks again gets the same answer. Who writes it
down, and takes a change back, is `gate.guard.trials`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gate.contract import experiments
from gate.contract.experiments import Experiment
from gate.contract.ledger import Revision
from gate.contract.proposals import Otherwise
from gate.effects import tripwires
from gate.effects.designs import BASELINE_STEPS, Design
from gate.effects.series import Point, within
from gate.effects.tripwires import LastRevision
from gate.effects.verdicts import Evidence, Judgement, Verdict
from gate.guard import judging
from gate.guard.change import change_of, is_tested
from gate.guard.history import History


class Found(NamedTuple):
    """What is to be told about one change."""

    experiment: Experiment | None
    """The test that found it; None for a change that had none."""
    revision: int
    judgement: Judgement
    last_step: int
    """The last training step that was looked at."""


@dataclass(frozen=True)
class Watched:
    """What of a ledger has to be looked at, step after step."""

    past: History
    tests: tuple[Experiment, ...]
    """The open tests."""
    last: LastRevision | None
    """The newest change that was meant to move success, unless it was taken back already."""

    @classmethod
    def of(cls, past: History) -> Watched:
        """Return what of a ledger has to be looked at."""
        return cls(past, past.open_tests, _last(past))

    def is_active(self, step: int) -> bool:
        """Return whether the records of the steps before one have to be read."""
        recent = self.last is not None and tripwires.culprit(step - 1, self.last) is not None
        return bool(self.tests) or recent


def due(watched: Watched, points: Sequence[Point], step: int) -> Iterator[Found]:
    """Yield what is to be told at a step boundary; a tripwire comes first.

    Args:
        watched: What has to be looked at.
        points: What the steps showed, oldest first.
        step: The training step about to begin.
    """
    newest = min(points[-1].step, step - 1) if points else step - 1
    broken = _broken(watched, points, newest)
    if broken is not None:
        yield broken
    for test in watched.tests:
        if broken is None or test.revision != broken.revision:
            yield from _of_test(watched.past, test, points, newest)


def interruption(past: History, test: Experiment) -> Revision | None:
    """Return the first later revision that ends a test before its time; None without one.

    Sides of one batch stay comparable whatever changes in how they are learnt from. A comparison
    over time bears what was declared concurrent, and the way back from it.
    """
    joined: set[int] = set()
    for revision in past.revisions:
        if revision.number <= test.revision:
            continue
        reverts = revision.details.get("reverts")
        if reverts == test.revision:
            return revision
        change = change_of(past, revision)
        if test.design == Design.CONCURRENT_ARMS:
            if change.acts_on_episodes:
                return revision
        elif change.matters:
            concurrent = revision.details.get("proposal", {}).get("concurrent", False)
            if test.design == Design.REVERSAL or not (concurrent or reverts in joined):
                return revision
            joined.add(revision.number)
    return None


def takes_back(past: History, found: Found) -> bool:
    """Return whether a change must not stay, and is not gone already."""
    if any(one.details.get("reverts") == found.revision for one in past.revisions):
        return False
    verdict, test = found.judgement.verdict, found.experiment
    if verdict is Verdict.INCONCLUSIVE and test is not None:
        return test.if_inconclusive == Otherwise.REVERT
    return verdict.rolls_back


def body(past: History, found: Found) -> dict[str, Any]:
    """Return the ledger's line of kind outcome, as long as nothing was taken back."""
    test, judgement = found.experiment, found.judgement
    effect = judgement.evidence.effect
    (revision,) = (one for one in past.revisions if one.number == found.revision)
    first = None if test is None else test.opened + test.lag
    measured = None
    if effect is not None:
        measured = {
            "difference": effect.difference,
            "low": effect.low,
            "high": effect.high,
            "detectable": effect.detectable,
        }
    return {
        "experiment": None if test is None else test.number,
        "proposal": revision.details.get("proposal", {}).get("number"),
        "revision": found.revision,
        "verdict": judgement.verdict.value,
        "because": str(judgement).partition(": ")[2],
        "provisional": judgement.provisional,
        "effect": measured,
        "noise_floor": judgement.evidence.noise_floor,
        "design": "" if test is None else test.design,
        "window": None if first is None or found.last_step < first else [first, found.last_step],
        "rolled_back_by": None,
    }


def _of_test(
    past: History, test: Experiment, points: Sequence[Point], newest: int
) -> Iterator[Found]:
    later = interruption(past, test)
    last_step = newest if later is None else min(newest, later.step - 1)
    judgement = judging.judge(test, points, last_step=last_step)
    elapsed = last_step - test.opened + 1
    ready = elapsed >= test.ready_after
    holds = judgement.verdict.value in experiments.HOLDS
    early = judgement.verdict in (Verdict.HARM, Verdict.HELP)
    if early or (ready and not holds):
        yield Found(test, test.revision, judgement, last_step)
    elif later is not None:
        how = "took it back" if later.details.get("reverts") == test.revision else "came"
        because = f"revision {later.number} {how} after {elapsed} of {test.ready_after} steps"
        ended = replace(judgement, verdict=Verdict.INCONCLUSIVE, because=because)
        yield Found(test, test.revision, ended, last_step)
    elif ready and test.number not in experiments.lagging(past.effects):
        yield Found(test, test.revision, judgement, last_step)


def _broken(watched: Watched, points: Sequence[Point], newest: int) -> Found | None:
    """Return the verdict on the newest change if the last step tripped a wire."""
    last = watched.last
    if last is None or tripwires.culprit(newest, last) is None:
        return None
    # All of the last steps, whatever was in force: the few since the change before this one may
    # have been of a run that stood still, and whatever moves again would look like a burst.
    before = within(points, range(last.first_step - BASELINE_STEPS, last.first_step))
    since = within(points, range(last.first_step, newest + 1))
    if not since:
        return None
    calm = tripwires.calm([point.vitals for point in before])
    wires = tripwires.tripped([point.vitals for point in since], calm)
    if not wires:
        return None
    elapsed = newest - last.first_step + 1
    tests = [one for one in watched.past.experiments.values() if one.revision == last.number]
    judgement = Judgement(
        Verdict.SAFETY_ROLLBACK,
        f"the run is breaking ({', '.join(wires)}), {elapsed} steps after its last change",
        Evidence(elapsed, tripped=wires),
    )
    return Found(tests[-1] if tests else None, last.number, judgement, newest)


def _last(past: History) -> LastRevision | None:
    for revision in reversed(past.revisions):
        change = change_of(past, revision)
        if revision.number and change.matters:
            # Who goes back from a change is not to blame for what it left, and what was planted
            # is there to be found by others.
            asked = is_tested(past, revision)
            return LastRevision(revision.number, revision.step, change.lag) if asked else None
    return None
