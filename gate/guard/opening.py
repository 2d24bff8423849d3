"""Opening a test: how a change will be judged, fixed before its first step.

The scope of what moves decides the design; the noise of the run, the size of the effect that is
looked for and the steps that are left decide the window. Where no window suffices, that is told
now: the change may come into force, and nothing will be said about what it does.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gate.contract.experiments import Experiment
from gate.contract.findings import Finding, Severity
from gate.contract.knobs import Scope
from gate.contract.paths import RunPaths
from gate.effects import anchors, layouts, noise, placebo, power, series
from gate.effects.anchors import Ease
from gate.effects.designs import BASELINE_STEPS, SHORTEST_WINDOW, Design, design_for
from gate.effects.effect import SIGNIFICANCE_Z
from gate.effects.power import Plan
from gate.guard import judging
from gate.guard.change import Change, Setting, setting_of
from gate.guard.history import History
from gate.guard.step_memory import StepMemory

USUAL_EFFECT = 0.08
"""Difference of success that a test is to find four times in five, whatever its author hopes for:
one of .10 is then found nine times in ten, and a harm is no smaller for a high hope."""

SHORTEST_OVER_TIME = 15
"""Steps of a comparison over time, at least: thirty steps before it tell their noise badly."""

SPARE_STEPS = 5
"""Steps of a reversal beyond three shortest phases: 21 layouts to draw from."""

FEWEST_PLACEBOS = 19
"""Placements that a noise floor needs at least."""

DEALT = frozenset({"environment.task_mix"})
"""Knobs that decide which tasks are played: success before and after is of different tasks."""

REMEMBERED_STEPS = 300
"""Steps before the present one from which a noise floor may be taken."""

UNJUDGED = "effects.not-judged"
"""The rule that says why nothing can be told about a change, where power is not the reason."""

SUCCESS = ("success", "pinned_success", "anchor_success")


def declare(number: int, revision: int, change: Change, found: Setting) -> Experiment:
    """Return how a change will be judged, or why it cannot be.

    Args:
        number: The test's number.
        revision: The revision with the new values.
        change: What is tested; it `matters`.
        found: The run at the opening.
    """
    told = change.proposal or {}
    experiment = Experiment(
        number=number,
        proposal=told.get("number"),
        revision=revision,
        old_revision=change.old_revision,
        opened=found.step,
        judged=False,
        baseline=min(len(found.undisturbed), BASELINE_STEPS),
        lag=change.lag,
        effect=_effect(told),
        ease=ease(change).value,
        knobs=tuple(one.path for one in change.changes),
        if_inconclusive=told.get("if_inconclusive", "keep"),
        **_proximal(change, told),
    )
    dealt = sorted(spec.path for spec, _, _ in change.moved if spec.path in DEALT)
    if dealt:
        return replace(
            experiment,
            because=f"{dealt[0]} decides which tasks are played, so success before and after is "
            "that of different tasks",
        )
    splittable = found.groups is None or found.groups > 1
    scope = Scope.LEARNER if change.acts_on_learning else Scope.ROLLOUT
    design = design_for(scope, splittable=splittable)
    if design is Design.CONCURRENT_ARMS:
        return _arms(experiment, found, told)
    return _over_time(experiment, design, found, told)


def doubts(
    run: RunPaths, past: History, change: Change, *, step: int, refuse: bool
) -> tuple[Finding, ...]:
    """Return what is to be told before a change comes into force: that nothing can be told of it.

    Args:
        run: The run.
        past: Its ledger.
        change: What would come into force.
        step: The first training step under it.
        refuse: Whether its author would rather not have it then.
    """
    if not change.matters:
        return ()
    memory = StepMemory(run.steps)
    memory.follow(step - REMEMBERED_STEPS)
    found = setting_of(run, past, memory.points, step=step)
    if not found.batch:
        return ()
    number, revision = 1 + max(past.experiments, default=0), past.newest + 1
    severity = Severity.ERROR if refuse else Severity.WARNING
    told = finding(declare(number, revision, change, found), severity=severity)
    return () if told is None else (told,)


def finding(experiment: Experiment, *, severity: Severity = Severity.WARNING) -> Finding | None:
    """Return what is to be told about a test that cannot be judged; None for one that can."""
    if experiment.judged:
        return None
    short = experiment.because.startswith("Underpowered")
    whose = (
        f"revision {experiment.revision}"
        if experiment.proposal is None
        else f"proposal {experiment.proposal}"
    )
    return Finding(
        rule=power.UNDERPOWERED if short else UNJUDGED,
        severity=severity,
        message=f"What {whose} does cannot be told: {experiment.because}",
        next_step="Tripwires watch it for some steps; else nothing will be said about it.",
        value=experiment.effect,
        limit=experiment.detectable,
    )


def _arms(experiment: Experiment, found: Setting, told: Mapping[str, Any]) -> Experiment:
    sd = _difference_sd(found)
    plan = _plan(experiment, Design.CONCURRENT_ARMS, sd, found)
    if not plan.feasible or plan.steps is None:
        return _underpowered(experiment, plan)
    window = _window(plan.steps, told.get("window", 0), found.remaining)
    return _opened(
        replace(experiment, effect=plan.effect),
        Design.CONCURRENT_ARMS,
        window,
        sd,
        # Chance put each group on its side, so the floor follows from the noise of one step.
        floor=SIGNIFICANCE_Z * sd / window**0.5,
    )


def _over_time(
    experiment: Experiment, design: Design, found: Setting, told: Mapping[str, Any]
) -> Experiment:
    before = found.undisturbed[-BASELINE_STEPS:]
    arms = sorted({arm for point in before for arm in point.arms})
    history = series.numbers(series.success(found.undisturbed, arms)) if arms else ()
    values = history[-BASELINE_STEPS:]
    if len(values) < noise.FEWEST_BASELINE_STEPS:
        return replace(
            experiment,
            because=f"it takes {noise.FEWEST_BASELINE_STEPS} steps without a change to know the "
            f"noise, and there are {len(values)}",
        )
    measured = noise.of_baseline(values, least_sd=judging.least_sd(before, arms))
    sd = measured.long_run_sd
    plan = _plan(experiment, design, sd, found)
    if not plan.feasible or plan.steps is None:
        return _underpowered(experiment, plan)
    experiment = replace(experiment, effect=plan.effect)
    wanted = max(told.get("window", 0) - experiment.lag, 0)
    left = None if found.remaining is None else found.remaining - experiment.lag
    if design is Design.REVERSAL:
        phase = max(plan.steps, wanted) // 3
        window = _window(3 * phase, 3 * phase + SPARE_STEPS, left)
        return _reversal(experiment, window, phase, sd)
    window = _window(plan.steps - experiment.lag, max(wanted, SHORTEST_OVER_TIME), left)
    placebos = placebo.contrasts(history, before=len(values), gap=0, after=window)
    floor = placebo.floor(placebos) if len(placebos) >= FEWEST_PLACEBOS else None
    return _opened(experiment, design, window, sd, floor=floor)


def _reversal(experiment: Experiment, window: int, phase: int, sd: float) -> Experiment:
    # Drawn from what nobody can choose: the number of the revision and the step it came at.
    chance = random.Random(f"{experiment.revision}:{experiment.opened}:{experiment.number}")
    drawn = layouts.draw(window, phase, chance)
    experiment = replace(experiment, layout=(drawn.forth, drawn.back), shortest_phase=phase, lag=0)
    return _opened(experiment, Design.REVERSAL, window, sd, floor=None)


def _opened(
    experiment: Experiment, design: Design, window: int, sd: float, *, floor: float | None
) -> Experiment:
    experiment = replace(
        experiment, judged=True, design=design.value, window=window, noise_sd=sd, noise_floor=floor
    )
    se = power.standard_error(judging.declaration(experiment), sd)
    detectable = power.DETECTABLE_SE * se
    return replace(experiment, detectable=detectable, margin=power.margin(detectable))


def _plan(experiment: Experiment, design: Design, sd: float, found: Setting) -> Plan:
    """Return what it takes to find the usual effect, or its author's where only that fits."""
    plans = [
        power.plan(
            design,
            sd,
            size,
            remaining=10**6 if found.remaining is None else found.remaining,
            lag=experiment.lag,
            baseline=experiment.baseline,
        )
        for size in sorted({min(experiment.effect, USUAL_EFFECT), experiment.effect})
    ]
    return next((plan for plan in plans if plan.feasible), plans[-1])


def _underpowered(experiment: Experiment, plan: Plan) -> Experiment:
    (told,) = plan.findings
    return replace(experiment, because=f"{told.message} {told.next_step}", detectable=_finite(plan))


def _finite(plan: Plan) -> float | None:
    return plan.detectable if plan.detectable < float("inf") else None


def _window(needed: int, wanted: int, remaining: int | None) -> int:
    window = max(needed, wanted, SHORTEST_WINDOW)
    return window if remaining is None else min(window, max(remaining, needed))


def _difference_sd(found: Setting) -> float:
    """Return the noise of new minus old of one step, cautiously where little was played yet."""
    points = found.undisturbed[-BASELINE_STEPS:]
    arms = sorted({arm for point in points for arm in point.arms})
    values = series.numbers(series.success(points, arms)) if arms else ()
    if len(values) >= noise.FEWEST_BASELINE_STEPS:
        # Half a batch has root two of the noise of the whole, and a difference has that twice.
        return 2 * noise.of_baseline(values, least_sd=judging.least_sd(points, arms)).sd
    groups = max(found.batch, 2)
    return noise.difference_sd(0.5, groups / 2, groups / 2)


def _effect(told: Mapping[str, Any]) -> float:
    expected = told.get("expected", {})
    named = expected.get("metric") in SUCCESS
    return float(expected["size"]) if named else USUAL_EFFECT


def ease(change: Change) -> Ease:
    """Return what a change does to the difficulty of its own episodes."""
    found = [anchors.ease_of(spec, old, new) for spec, old, new in change.moved]
    return anchors.ease_together([*found, *([Ease.UNKNOWN] if change.moves_worlds else [])])


def _proximal(change: Change, told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measure that moves first, and where the proposal said that it goes."""
    known = {spec.proximal for spec, _, _ in change.moved} - {"none", *SUCCESS}
    expected = told.get("expected", {})
    if expected.get("metric") in known:
        return {
            "proximal": expected["metric"],
            "direction": 1 if expected["direction"] == "up" else -1,
        }
    return {"proximal": min(known)} if known else {}
