"""One probe from request to report: every check in every world, within the time there is.

What was not reached is told as such and counts against the candidate. No process is left when the
report is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from gate.contract.findings import Finding, Severity
from trainer import run_folder
from trainer.probe import pacing, sampling, selectors, staging, stored
from trainer.probe.budget import Budget, OutOfTime
from trainer.probe.checks import CHECKS, Check
from trainer.probe.faulted import WorldFaulted
from trainer.probe.granted import GrantedTime
from trainer.probe.outcome import Outcome, finding
from trainer.probe.report import Report
from trainer.probe.request import Request, Values
from trainer.probe.subject import Subject
from trainer.recipe import RunConfig, WorldConfig
from trainer.worlds.calls import Host
from trainer.worlds.host import WorldHost
from trainer.worlds.limits import Limits

UNREACHED, FAULT, TAMPERING = "unreached", "world_fault", "tampering"
CLOSING_S = 0.5
"""Seconds kept back for ending processes and writing the report."""


def probe(
    request: Request,
    *,
    checks: Mapping[str, Check] = CHECKS,
    clock: GrantedTime | None = None,
    make_user: staging.MakeUser = staging.symbolic,
) -> Report:
    """Return what all checks found.

    Args:
        request: What is probed.
        checks: The checks to make, by name; the gate asks for all.
        clock: Of the time granted; one that begins now unless given.
        make_user: Makes the engine of the users; the checkout's, unless a test plants a fault.
    """
    clock = clock or GrantedTime()
    budget = Budget(request.seconds - CLOSING_S, clock, on_the_wall=clock.on_the_wall)
    before = _digests(request)
    recipe = staging.recipe_of(request)
    with ExitStack() as stack:
        hosts: dict[str, Host] = {
            "new": stack.enter_context(_host(request.new, request.worlds, budget))
        }
        if request.old is not None:
            hosts["old"] = stack.enter_context(_host(request.old, request.worlds, budget))
        work = _Work(budget)
        episodes = stored.read(request.run, request.max_episodes)
        portions = sampling.portions(request.tasks, len(request.worlds))
        for name, most in zip(request.worlds, portions, strict=True):
            setting = recipe.worlds.get(name, WorldConfig())
            staged = staging.stage(
                name,
                request,
                setting,
                hosts,
                budget,
                episodes,
                most_tasks=most,
                make_user=make_user,
            )
            work.findings += staged.findings
            if staged.subject is not None:
                work.subjects.append(staged.subject)
        work.findings += _unresolved(request, recipe)
        pacing.fit(work.subjects, clock=clock)
        work.do_all(checks)
    changed = [root for root, digest in _digests(request).items() if before[root] != digest]
    return Report(
        findings=(*work.findings, *map(_tampered, changed)),
        measured=work.measured,
        seconds=budget.spent_s,
        tasks=sum(len(subject.tasks) for subject in work.subjects),
    )


def _digests(request: Request) -> dict[Path, str]:
    """Return a digest of each folder of worlds, which a world that runs could write to."""
    sides = (request.new, request.old) if request.old is not None else (request.new,)
    return {side.world_root: run_folder.folder_digest(side.world_root) for side in sides}


def _tampered(root: Path) -> Finding:
    return finding(
        TAMPERING,
        f"Files under {root.name} changed while the candidate was tried.",
        "A world writes in its own scratch folder alone; look at what it opened.",
        path="world",
        value=root.name,
    )


def _host(values: Values, worlds: tuple[str, ...], budget: Budget) -> WorldHost:
    folders: dict[str, Path] = {name: values.world_root / name for name in worlds}
    return WorldHost(folders, limits=Limits(load_s=budget.loading_s))


@dataclass
class _Work:
    """The checks still to be made, and what those before them found."""

    budget: Budget
    subjects: list[Subject] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    measured: dict[str, dict[str, float]] = field(default_factory=dict)
    faulted: set[str] = field(default_factory=set)
    """Worlds whose candidate failed: told once, and not tried again."""

    def do_all(self, checks: Mapping[str, Check]) -> None:
        jobs = [(name, one, subject) for name, one in checks.items() for subject in self.subjects]
        for index, (name, check, subject) in enumerate(jobs):
            self.budget.share(1 / (len(jobs) - index))
            outcome = self._ask(name, check, subject)
            self.findings += outcome.findings
            if outcome.measured is not None:
                self.measured.setdefault(name, {})[subject.name] = outcome.measured

    def _ask(self, name: str, check: Check, subject: Subject) -> Outcome:
        try:
            self.budget.ask()
            outcome = check(subject, subject.new)
        except OutOfTime:
            return Outcome(None, (_unreached(name, subject, "time was up"),))
        except WorldFaulted as error:
            return Outcome(None, tuple(self._told(name, subject, error)))
        if not outcome.refuses or subject.old is None:
            return outcome
        try:
            return _as_before(outcome, check(subject, subject.old))
        except (OutOfTime, WorldFaulted):
            # What is in force cannot excuse the candidate if nothing is known of it.
            return outcome

    def _told(self, name: str, subject: Subject, error: WorldFaulted) -> Iterator[Finding]:
        """Yield what is to be said about a world that failed, and once only what it did."""
        if error.side != subject.new.label:
            # The candidate may be its repair, so it is not held against it.
            yield _soft(_unreached(name, subject, "what is in force failed"))
            return
        if subject.name not in self.faulted:
            self.faulted.add(subject.name)
            yield _faulted(subject, error)
        yield _unreached(name, subject, "the world failed")


def _unresolved(request: Request, recipe: RunConfig) -> list[Finding]:
    """Return which names in the knobs resolve to nothing; those in force already as warnings."""
    worlds, declared = tuple(recipe.worlds), staging.declared(request, recipe)
    old = request.old
    before = [] if old is None else list(selectors.unresolved(old.knobs, worlds, declared))
    known = {(one.path, one.value) for one in before}
    return [
        _so_before(one) if (one.path, one.value) in known else one
        for one in selectors.unresolved(request.new.knobs, worlds, declared)
    ]


def _soft(one: Finding) -> Finding:
    return replace(one, severity=Severity.WARNING)


def _so_before(one: Finding) -> Finding:
    return replace(_soft(one), message=f"{one.message} It was so before.")


def _as_before(new: Outcome, old: Outcome) -> Outcome:
    """Return the outcome as warnings where what is in force is no better."""
    worse = old.measured is None or (new.measured or 0.0) > old.measured or not old.refuses
    if worse:
        return new
    return Outcome(new.measured, tuple(map(_so_before, new.findings)))


def _unreached(name: str, subject: Subject, why: str) -> Finding:
    return finding(
        UNREACHED,
        f"The check {name} of {subject.name} was not finished: {why}.",
        "Probe fewer worlds at once, or look at what makes this one slow.",
        path=f"{name}.{subject.name}",
        value=name,
    )


def _faulted(subject: Subject, error: WorldFaulted) -> Finding:
    return finding(
        FAULT,
        f"The world {subject.name} failed while it was tried: {error.fault.stop}: "
        f"{error.fault.detail}.",
        "Mend its code; a world answers every call within its deadline.",
        path=f"world.{subject.name}",
        value=error.fault.stop.value,
    )
