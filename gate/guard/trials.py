"""Trials: the tests of a run at each step boundary, from their opening to their outcome.

What is open follows from the ledger, and what a test says from the step records, so that a
process that dies between two writes leaves nothing that the next look does not finish. Without
an open test and without a recent change nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gate.contract import experiments, ledger
from gate.contract.experiments import Experiment
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.ledger import Author, EntryKind, Revision
from gate.contract.paths import RunPaths
from gate.contract.proposals import Otherwise
from gate.effects import tripwires
from gate.effects.designs import BASELINE_STEPS, Design
from gate.effects.series import within
from gate.effects.tripwires import LastRevision
from gate.effects.verdicts import Evidence, Judgement, Verdict
from gate.guard import applying, history, judging, opening
from gate.guard.history import History
from gate.guard.opening import REMEMBERED_STEPS, Change, Setting
from gate.guard.status import Condition, KnobStatus, OpenTest
from gate.guard.step_memory import StepMemory

LATEST_OPENING = 5
"""Steps under a change after which a test of it is no longer opened: its beginning is lost."""

UNSEEN_EDIT = "revision.unseen_edit"
"""Why a change cannot be taken back yet: a knob file holds an edit that nobody has looked at."""


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

    def is_active(self, step: int) -> bool:
        """Return whether the records of the steps before one have to be read."""
        recent = self.last is not None and tripwires.culprit(step - 1, self.last) is not None
        return bool(self.tests) or recent


class Trials:
    """The tests of one run; the caller holds the run's lock where something is written."""

    def __init__(self, run: RunPaths, worlds: tuple[str, ...]) -> None:
        self._run = run
        self._worlds = worlds
        self._memory = StepMemory(run.steps)
        self._known: Watched | None = None
        self._held: tuple[Finding, ...] = ()

    def news(self, past: History, step: int) -> bool:
        """Return whether something is to be written about a test; reads what was played since.

        Args:
            past: The run's ledger.
            step: The training step about to begin.
        """
        watched = self._watched(past)
        return watched.is_active(step) and any(self._due(watched, step))

    def settle(self, past: History, step: int, now: float) -> History:
        """Write what is to be told, and take back what must not stay; returns the new ledger.

        Args:
            past: The run's ledger.
            step: The training step about to begin.
            now: Seconds since 1970.

        Raises:
            files.DiskFull: if there is no room; what was told before stays so.
        """
        self._held = ()
        for revision in _untold(past):
            body = {**revision.details["outcome"], "rolled_back_by": revision.number}
            past = self._append(past, EntryKind.OUTCOME, body, step, now)
        watched = self._watched(past)
        for found in self._due(watched, step) if watched.is_active(step) else ():
            past = self._tell(past, found, step, now)
        experiments.write_documents(self._run, past.experiments.values(), past.effects)
        return past

    def open(self, past: History, step: int, now: float) -> History:
        """Declare how each new change will be judged; returns the new ledger.

        Args:
            past: The run's ledger.
            step: The training step about to begin.
            now: Seconds since 1970.

        Raises:
            files.DiskFull: if there is no room; the next look opens what is missing.
        """
        tested = {one.revision for one in past.experiments.values()}
        for revision in past.revisions:
            late = revision.step < step - LATEST_OPENING
            if late or revision.number in tested or not opening.is_tested(past, revision):
                continue
            found = self._setting(past, step)
            if not found.is_known:
                break
            experiment = _declared(past, revision, found)
            past = self._append(past, EntryKind.OPENED, experiment.to_json(), step, now)
            experiments.write_documents(self._run, [experiment], past.effects)
        return past

    def clash(self, past: History, change: Change) -> Finding | None:
        """Return why a change must wait although it was declared concurrent; None if it may come.

        Args:
            past: The run's ledger.
            change: What would come into force.
        """
        for test in self._watched(past).tests:
            splits = test.design == Design.CONCURRENT_ARMS and change.acts_on_episodes
            if splits or test.design == Design.REVERSAL:
                last = test.opened + test.ready_after - 1
                message = (
                    f"Test {test.number} compares two sides until step {last}, and both would "
                    "have to hold this change too."
                )
                step = f"It is decided after step {last}."
                return Finding("guard.waiting", Severity.WARNING, message, step)
        return None

    def dress(
        self, status: KnobStatus, past: History, step: int, condition: Callable[[int], Condition]
    ) -> KnobStatus:
        """Return a status with what the open tests make of the step about to begin.

        Args:
            status: What is in force.
            past: The run's ledger.
            step: The training step about to begin.
            condition: Returns what an episode under a revision is played under.
        """
        watched = self._watched(past)
        if self._held:
            status = replace(status, warnings=(*status.warnings, *self._held))
        for test in watched.tests:
            if _interruption(past, test) is not None or step < test.opened:
                continue
            if test.design == Design.CONCURRENT_ARMS:
                old, new = condition(test.old_revision), condition(status.revision)
                return replace(status, test=OpenTest(test.number, old, new, test.new_share))
            if test.layout is not None and not _is_new(test.layout, step - test.opened):
                old = condition(test.old_revision)
                return replace(
                    status,
                    knobs=old.knobs,
                    revision=old.revision,
                    world_revision=old.world_revision,
                )
        return status

    def now(self, past: History, step: int) -> tuple[tuple[Experiment, Judgement], ...]:
        """Return what each open test says now, for whoever asks; nothing is written.

        Args:
            past: The run's ledger.
            step: The training step about to begin.
        """
        watched = self._watched(past)
        self._remember(watched, step)
        points = self._memory.points
        return tuple(
            (test, judging.judge(test, points, last_step=step - 1)) for test in watched.tests
        )

    def _watched(self, past: History) -> Watched:
        if self._known is None or self._known.past is not past:
            self._known = Watched(past, past.open_tests, _last(past))
        return self._known

    def _remember(self, watched: Watched, step: int) -> None:
        oldest = [step - REMEMBERED_STEPS]
        oldest += [test.opened - test.baseline - REMEMBERED_STEPS for test in watched.tests]
        self._memory.follow(min(oldest))

    def _due(self, watched: Watched, step: int) -> Iterator[Found]:
        """Yield what is to be told now."""
        self._remember(watched, step)
        points = self._memory.points
        newest = min(points[-1].step, step - 1) if points else step - 1
        broken = self._broken(watched, newest)
        if broken is not None:
            yield broken
        for test in watched.tests:
            if broken is None or test.revision != broken.revision:
                yield from _of_test(watched.past, test, self._memory, newest)

    def _broken(self, watched: Watched, newest: int) -> Found | None:
        """Return the verdict on the newest change if the last step tripped a wire."""
        last, points = watched.last, self._memory.points
        if last is None or tripwires.culprit(newest, last) is None:
            return None
        before = opening.undisturbed(watched.past, points, before=last.first_step)
        since = within(points, range(last.first_step, newest + 1))
        if not since:
            return None
        calm = tripwires.calm([point.vitals for point in before[-BASELINE_STEPS:]])
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

    def _tell(self, past: History, found: Found, step: int, now: float) -> History:
        """Write one outcome, and before it the revision that takes the change back if one does."""
        body = _body(past, found)
        if not _takes_back(past, found):
            return self._append(past, EntryKind.OUTCOME, body, step, now)
        try:
            made = applying.take_back(
                self._run,
                past,
                found.revision,
                author=Author.GATE,
                reason=f"{found.judgement.verdict.value}: {found.judgement.because}",
                step=step,
                now=now,
                details={"outcome": body},
            )
        except Refused as refused:
            if any(finding.rule == UNSEEN_EDIT for finding in refused.findings):
                held = (replace(one, severity=Severity.WARNING) for one in refused.findings)
                self._held = (*self._held, *held)
                return past
            stays = f"{body['because']}; it stays in force: {refused.findings[0].message}"
            body = {**body, "because": stays}
            return self._append(past, EntryKind.OUTCOME, body, step, now)
        body = {**body, "rolled_back_by": made.number}
        return self._append(past, EntryKind.OUTCOME, body, step, now)

    def _setting(self, past: History, step: int) -> Setting:
        self._remember(self._watched(past), step)
        return opening.setting_of(self._run, past, self._memory.points, step=step)

    def _append(
        self, past: History, kind: EntryKind, body: dict[str, Any], step: int, now: float
    ) -> History:
        ledger.append(self._run.ledger, kind, body, step=step, now=now)
        return history.read(self._run.ledger, worlds=self._worlds, known=past)


def _declared(past: History, revision: Revision, found: Setting) -> Experiment:
    """Return how a new change will be judged."""
    number = 1 + max(past.experiments, default=0)
    change = opening.change_of(past, revision)
    experiment = opening.declare(number, revision.number, change, found)
    later = _interruption(past, experiment)
    if later is None:
        return experiment
    because = f"revision {later.number} came before a step was played under it alone"
    return replace(experiment, judged=False, because=because)


def _of_test(past: History, test: Experiment, memory: StepMemory, newest: int) -> Iterator[Found]:
    """Yield what one open test has to tell."""
    later = _interruption(past, test)
    last_step = newest if later is None else min(newest, later.step - 1)
    judgement = judging.judge(test, memory.points, last_step=last_step)
    elapsed = last_step - test.opened + 1
    ready = elapsed >= test.ready_after
    holds = judgement.verdict.value in experiments.HOLDS
    if judgement.verdict is Verdict.HARM or (ready and not holds):
        yield Found(test, test.revision, judgement, last_step)
    elif later is not None:
        how = "took it back" if later.details.get("reverts") == test.revision else "came"
        because = (
            f"revision {later.number} {how} after {max(elapsed, 0)} of {test.ready_after} steps"
        )
        ended = replace(judgement, verdict=Verdict.INCONCLUSIVE, because=because)
        yield Found(test, test.revision, ended, last_step)
    elif ready and test.number not in experiments.lagging(past.effects):
        yield Found(test, test.revision, judgement, last_step)


def _interruption(past: History, test: Experiment) -> Revision | None:
    """Return the first later revision that ends a test before its time; None without one."""
    joined: set[int] = set()
    for revision in past.revisions:
        if revision.number <= test.revision:
            continue
        reverts = revision.details.get("reverts")
        if reverts == test.revision:
            return revision
        change = opening.change_of(past, revision)
        if not change.matters:
            continue
        if test.design == Design.CONCURRENT_ARMS:
            if change.acts_on_episodes:
                return revision
            continue
        told = revision.details.get("proposal", {})
        if not told.get("concurrent", False) and reverts not in joined:
            return revision
        if test.design == Design.REVERSAL:
            return revision
        joined.add(revision.number)
    return None


def _last(past: History) -> LastRevision | None:
    """Return the newest change that was meant to move success, if it is still in force."""
    for revision in reversed(past.revisions):
        change = opening.change_of(past, revision)
        if not revision.number or not change.matters:
            continue
        if "reverts" in revision.details:
            return None
        return LastRevision(revision.number, revision.step, change.lag)
    return None


def _untold(past: History) -> Iterator[Revision]:
    """Yield each revision that took a change back for a verdict which a crash kept untold."""
    told = {outcome.rolled_back_by for outcome in past.effects}
    for revision in past.revisions:
        if "outcome" in revision.details and revision.number not in told:
            yield revision


def _takes_back(past: History, found: Found) -> bool:
    if any(one.details.get("reverts") == found.revision for one in past.revisions):
        return False
    verdict, test = found.judgement.verdict, found.experiment
    if verdict is Verdict.INCONCLUSIVE and test is not None:
        return test.if_inconclusive == Otherwise.REVERT
    return verdict.rolls_back


def _body(past: History, found: Found) -> dict[str, Any]:
    """Return the ledger's line of kind outcome, as long as nothing was taken back."""
    test, judgement = found.experiment, found.judgement
    effect = judgement.evidence.effect
    proposal = next(one for one in past.revisions if one.number == found.revision).details.get(
        "proposal", {}
    )
    first = None if test is None else test.opened + test.lag
    told = str(judgement).partition(": ")[2]
    return {
        "experiment": None if test is None else test.number,
        "proposal": proposal.get("number"),
        "revision": found.revision,
        "verdict": judgement.verdict.value,
        "because": told,
        "provisional": judgement.provisional,
        "effect": None
        if effect is None
        else {
            "difference": effect.difference,
            "low": effect.low,
            "high": effect.high,
            "detectable": effect.detectable,
        },
        "noise_floor": judgement.evidence.noise_floor,
        "design": "" if test is None else test.design,
        "window": None if first is None or found.last_step < first else [first, found.last_step],
        "rolled_back_by": None,
    }


def _is_new(layout: Sequence[int], since: int) -> bool:
    forth, back = layout
    return forth <= since < back
