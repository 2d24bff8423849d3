"""The guard: the knob files on disk become the knobs in force, whole or not at all.

It is level-triggered. At each step boundary it looks at what the files say now; nothing depends
on a notification. Whatever is wrong with a file, the values in force stay, the reason is told at
every step until the file is mended, and the file itself is never touched.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gate.contract import files, knobs, launch_record, ledger, proposals, revisions
from gate.contract.experiments import Outcome
from gate.contract.findings import Finding, Severity
from gate.contract.knobs import KnobChange, Knobs
from gate.contract.ledger import Author, EntryKind, RevisionKind
from gate.contract.paths import RunPaths
from gate.effects import anchors
from gate.guard import desired, history, taking_up
from gate.guard.desired import Desired
from gate.guard.intact import Watch
from gate.guard.looking import Trouble, look
from gate.guard.probing import Prober
from gate.guard.status import Condition, EffectTold, KnobStatus
from gate.guard.trials import Trials

SILENT_STEPS = 2
"""Steps for which a file that looks half saved is waited for before it is told."""

LOCK_TIMEOUT_S = 2.0
"""How long a step waits for another process's transaction, in seconds."""

EVIDENCE_RULES = frozenset({"rules.difficulty"})
"""Findings that training itself can resolve: such an edit is judged again at every step."""


class _Told(NamedTuple):
    """How much of the ledger about effects and breaches was told already."""

    effects: int
    experiments: int
    breaches: int

    @classmethod
    def of(cls, past: history.History) -> _Told:
        """Return it for a ledger of which everything was told."""
        return cls(len(past.effects), len(past.experiments), len(past.breaches))


class Guard:
    """The one door through which a running trainer takes up changes.

    One guard belongs to one run and one thread. `open` it, then call `reconcile` at every step
    boundary.
    """

    def __init__(
        self,
        run: RunPaths,
        worlds: tuple[str, ...],
        past: history.History,
        prober: Prober | None = None,
    ) -> None:
        self._run = run
        self._worlds = worlds
        self._prober = prober
        self._watch = Watch(run)
        self._past = past
        self._paths = {f"knobs/{name}.yaml": os.fspath(run.knob_file(name)) for name in knobs.FILES}
        self._ledger = os.fspath(run.ledger)
        self._proposals = os.fspath(run.proposals)
        self._names: list[str] = []
        self._seen: list[bytes | Trouble] = []
        # True when nothing but other files or a longer ledger can change the answer.
        self._settled = False
        self._unfinished_steps = 0
        self._trials = Trials(run, worlds)
        self._told = _Told.of(past)
        self._status = self._in_force(past.newest)
        # What the last step was played under; a reversal plays old values under a newer revision.
        self._played = self._status.knobs

    @classmethod
    def open(
        cls,
        run: RunPaths,
        *,
        worlds: Sequence[str],
        at_revision: int | None = None,
        prober: Prober | None = None,
    ) -> Guard:
        """Return a guard that holds the last good values: what the ledger says is in force.

        Files that were edited while nobody looked are found by the first `reconcile`.

        Args:
            run: The run; its ledger begins with a launch.
            worlds: Names of the run's worlds.
            at_revision: Begin under this revision, as a replay does; by default the newest.
            prober: Probes, beside the training, what would change a dialogue; without one the
                rules alone decide about knobs, and no proposal changes a world.

        Raises:
            ledger.Damaged: if the ledger cannot be trusted.
            gate.contract.findings.Refused: if the launch values are not valid.
            ValueError: if there is no such revision.
        """
        guard = cls(run, tuple(worlds), history.read(run.ledger, worlds=tuple(worlds)), prober)
        if at_revision is not None:
            guard.return_to(at_revision)
        return guard

    @property
    def status(self) -> KnobStatus:
        """What is in force and what stands against the files, as last told; nothing as changed."""
        return self._status

    def at_revision(self, revision: int) -> Knobs:
        """Return the knobs of one revision of this run.

        Raises:
            ValueError: if the run has no such revision.
        """
        if revision not in self._past.knobs_by_revision:
            raise ValueError(
                f"{self._ledger} has no revision {revision}; the newest is {self._past.newest}"
            )
        return self._past.knobs_by_revision[revision]

    def condition(self, revision: int) -> Condition:
        """Return everything that an episode of one revision of this run is played under.

        Raises:
            ValueError: if the run has no such revision.
        """
        return Condition(self.at_revision(revision), revision, self._past.world(revision))

    def return_to(self, revision: int) -> KnobStatus:
        """Put the knobs of a recorded revision in force, as a replayed step needs them.

        The next `reconcile` goes on from there to the newest revision and to the files.

        Raises:
            ValueError: if the run has no such revision.
        """
        self._status = self._in_force(revision)
        self._played = self._status.knobs
        self._settled = False
        return self._status

    def reconcile(
        self, step: int, *, success_history: Sequence[float | None], now: float
    ) -> KnobStatus:
        """Look at the files, take up what changed if all of it is right, and tell.

        Edits of the knob files come first, then the proposals in the order of their numbers.
        Without a change this reads four files and one folder's names, and compares: no lock, no
        parse.

        Args:
            step: The training step about to begin, from 1.
            success_history: Mean success of the anchors of the last training steps, oldest first;
                None where a step had none.
            now: Seconds since 1970.
        """
        if (
            self._settled
            and [look(path) for path in self._paths.values()] == self._seen
            and proposals.names_in(self._proposals) == self._names
            and history.size(self._ledger) == self._past.num_bytes
            and self._watch.same(self._status.world_revision)
            and not self._trials.news(self._past, step)
        ):
            return self._dressed(step)
        before, known = self._status, self._past.outcomes
        self._settled = False
        try:
            with files.run_lock(self._run.root, purpose=f"step {step}", timeout_s=LOCK_TIMEOUT_S):
                status = self._take_up(step, anchors.mastery(success_history), now)
                self._status = self._with_worlds(status, step, now)
        except (files.LockBusy, files.DiskFull, ledger.Damaged) as error:
            self._status = replace(before, refused=(_postponed(error),))
        # Also what a command decided, and what a crash cut short, since the last look.
        decided = tuple(
            outcome
            for number, outcome in sorted(self._past.outcomes.items())
            if known.get(number) != outcome
        )
        status = self._dressed(step)
        return self._with_news(replace(status, proposals=decided) if decided else status)

    def close(self) -> None:
        """End a probe that is under way; what it was asked about is probed again next time."""
        if self._prober is not None:
            self._prober.close()

    def _with_worlds(self, status: KnobStatus, step: int, now: float) -> KnobStatus:
        """Return a status that also tells what was edited in place in the worlds in force."""
        edited = self._watch.look(self._past)
        state = {one.file or "": one.message for one in edited}
        if edited and state not in self._past.refused:
            self._record_refusal(state, edited, step, now)
        return replace(status, refused=(*status.refused, *edited)) if edited else status

    def _dressed(self, step: int) -> KnobStatus:
        """Return what is in force in one step, the tests that are open taken into account."""
        status = self._trials.dress(self._status, self._past, step, self.condition)
        if status.knobs is self._played:
            return status
        changed = knobs.diff(self._played, status.knobs)
        self._played = status.knobs
        return replace(status, changed=changed) if changed else status

    def _with_news(self, status: KnobStatus) -> KnobStatus:
        """Return a status with the tests and the breaches that are new since the last one."""
        told = _Told.of(self._past)
        if told == self._told:
            return status
        effects = self._past.effects[self._told.effects :]
        opened = list(self._past.experiments.values())[self._told.experiments :]
        breached = self._past.breaches[self._told.breaches :]
        self._told = told
        return replace(
            status,
            verdicts=tuple(map(_effect_told, effects)),
            opened=tuple(opened),
            breaches=breached,
        )

    def _take_up(self, step: int, success_history: Sequence[float], now: float) -> KnobStatus:
        self._follow_ledger()
        revisions.recover(self._run, step=step, now=now)
        self._follow_ledger()
        self._past = self._trials.settle(self._past, step, now)
        self._past = self._trials.open(self._past, step, now)
        contents = {path: look(place) for path, place in self._paths.items()}
        self._seen = list(contents.values())
        self._names = proposals.names_in(self._proposals)
        # What is doubtful about a revision stays so for as long as it is in force.
        lasting = self._status.revision == self._past.newest
        status = self._in_force(self._past.newest, self._status.warnings if lasting else ())
        want = desired.read(
            contents, self._past.digests, worlds=self._worlds, folder=self._run.knobs
        )
        if want.findings:
            return self._keep(status, want, want.findings, step, now)
        self._unfinished_steps = 0
        if not want.edited:
            return self._take_up_proposals(status, step, success_history, now)
        changes, findings = desired.judge(
            want,
            status,
            self._past,
            step=step,
            success_history=success_history,
            credit=launch_record.credit(self._run.root),
        )
        if any(finding.severity is Severity.ERROR for finding in findings):
            return self._keep(status, want, findings, step, now)
        self._adopt(want, changes, step, now)
        self._past = self._trials.open(self._past, step, now)
        status = self._in_force(self._past.newest, findings)
        return self._take_up_proposals(status, step, success_history, now)

    def _take_up_proposals(
        self, status: KnobStatus, step: int, success_history: Sequence[float], now: float
    ) -> KnobStatus:
        """Decide about what was submitted, over knob files that are what the ledger says."""
        taken = taking_up.take_up(
            self._run,
            self._past,
            self._names,
            worlds=self._worlds,
            step=step,
            success_history=success_history,
            now=now,
            trials=self._trials,
            prober=self._prober,
        )
        self._past = taken.past
        # What was decided changed files and reports: the next look finds out how they are.
        self._settled = taken.complete and not taken.outcomes
        accepted = [one for one in taken.outcomes if one.revision is not None]
        if accepted:
            status = self._in_force(self._past.newest, accepted[-1].findings)
        return replace(status, waiting=taken.waiting)

    def _adopt(self, want: Desired, changes: Sequence[KnobChange], step: int, now: float) -> None:
        revisions.commit(
            self._run,
            {},
            in_place={path: want.state[path] for path in want.edited},
            author=Author.UNATTRIBUTED,
            reason="",
            kind=RevisionKind.DIRECT_EDIT,
            changes=changes,
            step=step,
            now=now,
        )
        self._follow_ledger()

    def _keep(
        self,
        status: KnobStatus,
        want: Desired,
        findings: tuple[Finding, ...],
        step: int,
        now: float,
    ) -> KnobStatus:
        """Leave the values in force and tell why; record each distinct refusal once."""
        self._unfinished_steps = self._unfinished_steps + 1 if want.unfinished else 0
        if want.unfinished and self._unfinished_steps <= SILENT_STEPS:
            return replace(status, waiting=self._held_up())
        if want.state not in self._past.refused:
            self._record_refusal(want.state, findings, step, now)
        self._settled = not any(finding.rule in EVIDENCE_RULES for finding in findings)
        return replace(status, refused=findings, waiting=self._held_up())

    def _record_refusal(
        self, state: Mapping[str, str], findings: Sequence[Finding], step: int, now: float
    ) -> None:
        body = {
            "state": state,
            "revision": self._past.newest,
            "findings": [finding.to_json() for finding in findings],
        }
        ledger.append(self._run.ledger, EntryKind.REFUSED, body, step=step, now=now)
        self._follow_ledger()

    def _held_up(self) -> tuple[Finding, ...]:
        """Return why proposals wait while an edit of the knob files is not in force."""
        numbers = [n for n in proposals.numbers(self._names) if n not in self._past.outcomes]
        if not numbers:
            return ()
        message = f"Proposal {numbers[0]} waits: the knob files hold an edit that is not in force."
        step = "Mend the knob files, or put them back."
        name = proposals.name_of(numbers[0])
        return (Finding("guard.waiting", Severity.WARNING, message, step, file=name),)

    def _follow_ledger(self) -> None:
        if history.size(self._ledger) != self._past.num_bytes:
            self._past = history.read(self._run.ledger, worlds=self._worlds, known=self._past)

    def _in_force(self, revision: int, warnings: tuple[Finding, ...] = ()) -> KnobStatus:
        return KnobStatus(
            knobs=self.at_revision(revision),
            revision=revision,
            warnings=warnings,
            since_step=self._past.since_step(revision),
            world_revision=self._past.world(revision),
        )


def _effect_told(outcome: Outcome) -> EffectTold:
    return EffectTold(
        seq=outcome.seq,
        step=outcome.step,
        proposal=outcome.proposal,
        revision=outcome.revision,
        verdict=outcome.verdict,
        because=outcome.because,
        rolled_back_by=outcome.rolled_back_by,
    )


def _postponed(error: files.LockBusy | files.DiskFull | ledger.Damaged) -> Finding:
    """Return why the files could not be looked at; nothing is wrong with them."""
    rules = {
        files.LockBusy: ("guard.lock-busy", "It is tried again at the next step."),
        files.DiskFull: ("guard.disk-full", "It is tried again at the next step."),
        ledger.Damaged: ("guard.ledger-damaged", "Until then no edit comes into force."),
    }
    rule, next_step = rules[type(error)]
    return Finding(rule, Severity.ERROR, f"No edit can be taken up: {error}.", next_step)
