"""Trials: the tests of a run at each step boundary, from their opening to their outcome.

What is open follows from the ledger, and what a test says from the step records, so that a
process that dies between two writes leaves nothing that the next look does not finish. Without
an open test and without a recent change nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gate.contract import experiments, ledger, revisions
from gate.contract.experiments import Experiment
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.ledger import Author, EntryKind, Revision
from gate.contract.paths import RunPaths
from gate.effects.designs import Design
from gate.effects.verdicts import Judgement
from gate.guard import applying, history, judging, noticing, opening
from gate.guard.change import Change, Setting, change_of, is_tested, setting_of
from gate.guard.history import History
from gate.guard.noticing import Found, Watched
from gate.guard.opening import REMEMBERED_STEPS
from gate.guard.status import Condition, KnobStatus, OpenTest
from gate.guard.step_memory import StepMemory

LATEST_OPENING = 5
"""Steps under a change after which a test of it is no longer opened: its beginning is lost."""


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
        return any(self._due(past, step))

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
        for found in self._due(past, step):
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
            if late or revision.number in tested or not is_tested(past, revision):
                continue
            found = self._setting(past, step)
            if not found.batch:
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
        if self._held:
            status = replace(status, warnings=(*status.warnings, *self._held))
        for test in self._watched(past).tests:
            if noticing.interruption(past, test) is not None or step < test.opened:
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

    def standing(self, past: History, step: int) -> tuple[tuple[Experiment, Judgement], ...]:
        """Return what each open test says now, for whoever asks; nothing is written.

        Args:
            past: The run's ledger.
            step: The training step about to begin.
        """
        self._remember(past, step)
        points = self._memory.points
        return tuple(
            (test, judging.judge(test, points, last_step=step - 1))
            for test in self._watched(past).tests
        )

    def _watched(self, past: History) -> Watched:
        if self._known is None or self._known.past is not past:
            self._known = Watched.of(past)
        return self._known

    def _remember(self, past: History, step: int) -> None:
        tests = self._watched(past).tests
        firsts = [step, *(test.opened - test.baseline for test in tests)]
        self._memory.follow(min(firsts) - REMEMBERED_STEPS)

    def _due(self, past: History, step: int) -> Iterator[Found]:
        watched = self._watched(past)
        if watched.is_active(step):
            self._remember(past, step)
            yield from noticing.due(watched, self._memory.points, step)

    def _tell(self, past: History, found: Found, step: int, now: float) -> History:
        """Write one outcome, and before it the revision that takes the change back if one does."""
        body = noticing.body(past, found)
        if not noticing.takes_back(past, found):
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
            if any(finding.rule in revisions.NOT_NOW for finding in refused.findings):
                held = (replace(one, severity=Severity.WARNING) for one in refused.findings)
                self._held = (*self._held, *held)
                return past
            errors = [one for one in refused.findings if one.severity is Severity.ERROR]
            why = (errors or list(refused.findings))[0].message
            stays = f"{body['because']}; it stays in force: {why}"
            body = {**body, "because": stays}
            return self._append(past, EntryKind.OUTCOME, body, step, now)
        body = {**body, "rolled_back_by": made.number}
        return self._append(past, EntryKind.OUTCOME, body, step, now)

    def _setting(self, past: History, step: int) -> Setting:
        self._remember(past, step)
        return setting_of(self._run, past, self._memory.points, step=step)

    def _append(
        self, past: History, kind: EntryKind, body: dict[str, Any], step: int, now: float
    ) -> History:
        ledger.append(self._run.ledger, kind, body, step=step, now=now)
        return history.read(self._run.ledger, worlds=self._worlds, known=past)


def _declared(past: History, revision: Revision, found: Setting) -> Experiment:
    """Return how a new change will be judged."""
    number = 1 + max(past.experiments, default=0)
    experiment = opening.declare(number, revision.number, change_of(past, revision), found)
    later = noticing.interruption(past, experiment)
    if later is None:
        return experiment
    because = f"revision {later.number} came before a step was played under it alone"
    return replace(experiment, judged=False, because=because)


def _untold(past: History) -> Iterator[Revision]:
    """Yield each revision that took a change back for a verdict which a crash kept untold."""
    told = {outcome.rolled_back_by for outcome in past.effects}
    for revision in past.revisions:
        if "outcome" in revision.details and revision.number not in told:
            yield revision


def _is_new(layout: Sequence[int], since: int) -> bool:
    forth, back = layout
    return forth <= since < back
