"""Judging: from a declared test and the steps that were played to a verdict, or none yet.

A pure function of the declaration and the records: whoever asks again, after a crash or with a
command, gets the same answer. Between the declared moments only strong evidence of harm is told,
and of help where both sides play at once.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gate.contract.experiments import Experiment
from gate.effects import anchors, estimate, layouts, noise, series, trend, verdicts
from gate.effects.anchors import Ease
from gate.effects.designs import BASELINE_STEPS, SHORTEST_WINDOW, Declaration, Design
from gate.effects.effect import Effect
from gate.effects.eprocess import HarmProcess
from gate.effects.layouts import Layout
from gate.effects.noise import Noise
from gate.effects.series import Point, Value
from gate.effects.verdicts import Evidence, Judgement, Verdict

FEWEST_TO_MOVE = 3
"""Steps after which it may be said that a knob's own metric has moved."""

FEWEST_TO_RISE = 5
"""Steps after which it may be said that success is rising."""


class Series(NamedTuple):
    """What a test compares, one number per step."""

    before: tuple[float, ...]
    """Success of the baseline; empty for concurrent arms."""
    since: tuple[Value, ...]
    """Success since the opening; new minus old for concurrent arms."""
    noise: Noise | None
    """Of the baseline; None for concurrent arms."""


def declaration(experiment: Experiment) -> Declaration:
    """Return the declaration of a test that is judged, as `gate.effects` takes it."""
    layout = experiment.layout
    return Declaration(
        design=Design(experiment.design),
        opened=experiment.opened,
        window=experiment.window,
        lag=experiment.lag,
        baseline=experiment.baseline,
        margin=experiment.margin,
        layout=None if layout is None else Layout(*layout),
        shortest_phase=experiment.shortest_phase,
    )


def judge(experiment: Experiment, points: Sequence[Point], *, last_step: int) -> Judgement:
    """Return what may be said about a change after one training step.

    At the two declared moments and afterwards the answer rests on the steps up to that moment,
    so that it does not matter when somebody asks.

    Args:
        experiment: A test that is judged.
        points: What the steps showed, oldest first; those of the baseline among them.
        last_step: The last training step that counts.
    """
    declared = declaration(experiment)
    elapsed = max(last_step - experiment.opened + 1, 0)
    for sign in (-1, 1):
        early = _early(experiment, declared, points, elapsed, sign=sign)
        if early is not None:
            return early
    if declared.layout is not None and elapsed >= declared.ready_after:
        # The switches are over: waiting for the horizon would add nothing to compare.
        return _at(experiment, declared, points, declared.horizon)
    first = _at(experiment, declared, points, min(elapsed, declared.ready_after))
    if first.verdict is not Verdict.LAGGING or elapsed < declared.horizon:
        return first
    return _at(experiment, declared, points, declared.horizon)


def effect_of(experiment: Experiment, points: Sequence[Point], *, elapsed: int) -> Effect | None:
    """Return what was measured so many steps after the opening; None while nothing can be."""
    declared = declaration(experiment)
    measured = _series(declared, experiment, points, elapsed)
    if declared.design is Design.CONCURRENT_ARMS:
        found = series.numbers(measured.since)
        return estimate.arms(found, least_sd=experiment.noise_sd or 0.0) if len(found) > 1 else None
    if measured.noise is None:
        return None
    if declared.layout is not None:
        return _reversal(declared, declared.layout, measured.noise, measured.since)
    counted = [one.value for one in measured.since if one.step in declared.steps_under(elapsed)]
    return estimate.before_after(measured.before, counted, measured.noise) if counted else None


def _at(
    experiment: Experiment, declared: Declaration, points: Sequence[Point], elapsed: int
) -> Judgement:
    ready = elapsed >= declared.ready_after
    effect = effect_of(experiment, points, elapsed=elapsed) if ready else None
    measured = _series(declared, experiment, points, elapsed)
    evidence = Evidence(
        elapsed=elapsed,
        effect=effect,
        proximal_z=_proximal_z(experiment, declared, points, elapsed),
        slope_t=_slope_t(measured),
        noise_floor=experiment.noise_floor,
    )
    judgement = verdicts.decide(declared, evidence)
    return anchors.bounded(
        judgement,
        declared,
        ease=Ease(experiment.ease),
        anchors=_anchors(declared, points, elapsed),
    )


def _early(
    experiment: Experiment,
    declared: Declaration,
    points: Sequence[Point],
    elapsed: int,
    *,
    sign: int,
) -> Judgement | None:
    """Return the verdict at the first step at which the evidence of harm or help sufficed.

    Help is told early only where both sides play at once, since a run that improves by itself
    looks like help everywhere else, and only where the anchors leave it standing.

    Args:
        experiment: The test.
        declared: Its declaration.
        points: What the steps showed.
        elapsed: Steps since the opening.
        sign: -1 for harm, 1 for help.
    """
    if sign > 0 and declared.design is not Design.CONCURRENT_ARMS:
        return None
    for after, process in _processes(experiment, declared, points, elapsed, sign=sign):
        if process.harm and (sign < 0 or after >= SHORTEST_WINDOW):
            return _crossed(experiment, declared, points, after, process.evidence, sign)
    return None


def evidence(
    experiment: Experiment, points: Sequence[Point], *, last_step: int, sign: int
) -> float | None:
    """Return the evidence that was gathered by some step; None where nothing can be gathered.

    Args:
        experiment: A test that is judged.
        points: What the steps showed, oldest first; those of the baseline among them.
        last_step: The last training step that counts.
        sign: -1 for harm, 1 for help.
    """
    declared = declaration(experiment)
    elapsed = max(last_step - experiment.opened + 1, 0)
    found = None
    for _, process in _processes(experiment, declared, points, elapsed, sign=sign):
        found = process.evidence
    return found


def _processes(
    experiment: Experiment,
    declared: Declaration,
    points: Sequence[Point],
    elapsed: int,
    *,
    sign: int,
) -> Iterator[tuple[int, HarmProcess]]:
    """Yield steps since the opening, with the evidence so far; nothing while noise is unknown."""
    elapsed = min(elapsed, declared.horizon)
    measured = _series(declared, experiment, points, elapsed)
    sd, usual = experiment.noise_sd, 0.0
    if measured.noise is not None:
        sd, usual = measured.noise.long_run_sd, measured.noise.mean
    if not sd:
        return
    process = HarmProcess(sd, experiment.margin)
    for step, value in measured.since:
        if declared.layout is not None and not _is_new(declared.layout, step - declared.opened):
            continue
        process = process.after(-sign * (value - usual))
        yield step - declared.opened + 1, process


def _crossed(
    experiment: Experiment,
    declared: Declaration,
    points: Sequence[Point],
    elapsed: int,
    evidence: float,
    sign: int,
) -> Judgement | None:
    """Return the early verdict; None for a help that the anchors do not leave standing."""
    shown = Evidence(
        elapsed,
        effect_of(experiment, points, elapsed=elapsed),
        harm=evidence if sign < 0 else 1.0,
        help=evidence if sign > 0 else 1.0,
        noise_floor=experiment.noise_floor,
    )
    judgement = verdicts.decide(declared, shown)
    if sign < 0:
        return judgement
    found = _anchors(declared, points, elapsed)
    bounded = anchors.bounded(judgement, declared, ease=Ease(experiment.ease), anchors=found)
    return bounded if bounded.verdict is Verdict.HELP else None


def _series(
    declared: Declaration, experiment: Experiment, points: Sequence[Point], elapsed: int
) -> Series:
    since = series.within(points, range(declared.opened, declared.opened + elapsed))
    if declared.design is Design.CONCURRENT_ARMS:
        return Series((), series.differences(since), None)
    before = series.within(points, declared.steps_before)
    since = tuple(_unsplit(point) for point in since)
    try:
        arms = series.comparable_arms(before, since or before)
    except ValueError:
        return Series((), (), None)
    told = series.numbers(series.success(before, arms))
    if len(told) < noise.FEWEST_BASELINE_STEPS:
        return Series(told, (), None)
    measured = noise.of_baseline(told, least_sd=least_sd(before, arms))
    return Series(told, series.success(since, arms), measured)


def _unsplit(point: Point) -> Point:
    """Return a step without what another test, that splits its batch, does to half of it."""
    old = {side: arms for side, arms in point.sides.items() if side == "old"}
    return replace(point, arms=next(iter(old.values()))) if old else point


def least_sd(points: Sequence[Point], arms: Sequence[str]) -> float:
    """Return the least standard deviation that the success of these steps can have.

    Args:
        points: Steps without a change.
        arms: The arms that are compared; each counts equally.
    """
    told = series.numbers(series.success(points, arms))
    counts = [point.arms[arm].episodes for point in points for arm in arms if arm in point.arms]
    episodes = max(round(statistics.fmean(counts) * len(arms)), 1)
    return noise.least_sd(statistics.fmean(told), episodes, len(told))


def _reversal(
    declared: Declaration, layout: Layout, measured: Noise, since: Sequence[Value]
) -> Effect | None:
    by_step = dict(since)
    indexes = layouts.phases(
        range(declared.window),  # pyright: ignore[reportArgumentType]
        layout,
        shortest=declared.shortest_phase,
        washout=declared.washout,
    )
    first, new, last = (
        [
            by_step[declared.opened + int(index)]
            for index in phase
            if declared.opened + index in by_step
        ]
        for phase in indexes
    )
    return estimate.reversal(first, new, last, measured) if first and new and last else None


def _is_new(layout: Layout, since: int) -> bool:
    return layout.forth <= since < layout.back


def _anchors(declared: Declaration, points: Sequence[Point], elapsed: int) -> Effect | None:
    # No revision changes what anchors play, so theirs may be older than the test's own baseline.
    before = series.within(points, range(max(1, declared.opened - BASELINE_STEPS), declared.opened))
    told = series.numbers(series.anchor_success(before))
    after = series.numbers(
        series.anchor_success(series.within(points, declared.steps_under(elapsed)))
    )
    if len(told) < noise.FEWEST_BASELINE_STEPS or len(after) < SHORTEST_WINDOW:
        return None
    counts = [point.anchors.episodes for point in before if point.anchors is not None]
    least = noise.least_sd(statistics.fmean(told), max(min(counts), 1), len(told))
    return estimate.before_after(told, after, noise.of_baseline(told, least_sd=least))


def _proximal_z(
    experiment: Experiment, declared: Declaration, points: Sequence[Point], elapsed: int
) -> float:
    """Return how far a knob's own metric moved, as predicted where somebody predicted it."""
    if experiment.proximal is None:
        return 0.0
    since = series.within(points, range(declared.opened, declared.opened + elapsed))
    before = series.numbers(
        series.measure(series.within(points, declared.steps_before), experiment.proximal)
    )
    after = series.numbers(series.measure(since, experiment.proximal))
    if len(before) < noise.FEWEST_BASELINE_STEPS or len(after) < FEWEST_TO_MOVE:
        return 0.0
    moved = estimate.before_after(before, after, noise.of_baseline(before))
    z = estimate.proximal_z(moved, direction=experiment.direction or 1)
    return z if experiment.direction else abs(z)


def _slope_t(measured: Series) -> float:
    values = series.numbers(measured.since)
    if len(values) < FEWEST_TO_RISE:
        return 0.0
    inflation = 1.0 if measured.noise is None else measured.noise.inflation
    return trend.slope_t(values, inflation=inflation)
