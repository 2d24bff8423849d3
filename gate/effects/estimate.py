"""Estimates: from two or more series of numbers to one effect with its interval.

One function per design. A comparison over time takes its noise from steps before the change and
knows that neighbouring steps resemble each other; concurrent arms need neither, since chance put
each episode on its side.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from gate.effects import noise
from gate.effects.effect import Effect
from gate.effects.noise import Noise

KNOWN_FROM = 30
"""Steps from which a noise estimate counts as known, and intervals are normal."""


def before_after(before: Sequence[float], after: Sequence[float], measured: Noise) -> Effect:
    """Return the mean after a change minus the mean before it.

    What the run would have gained by itself is part of the answer: an improvement found so is
    provisional.

    Args:
        before: One number per step without a change.
        after: One number per step under the new values, the lag left out.
        measured: Noise of the baseline (`noise.of_baseline`).
    """
    se = noise.se_before_after(measured.long_run_sd, before=len(before), after=len(after))
    difference = statistics.fmean(after) - statistics.fmean(before)
    return Effect.of(
        difference, se, steps=len(after), freedom=_freedom(measured.effective_steps, spent=2)
    )


def reversal(
    first: Sequence[float], new: Sequence[float], last: Sequence[float], measured: Noise
) -> Effect:
    """Return the mean of the new phase minus the mean of the old ones around it.

    Args:
        first: One number per step of the first old phase (see `layouts.phases`).
        new: Those of the new phase.
        last: Those of the second old phase.
        measured: Noise of a baseline before the test.
    """
    difference = statistics.fmean(new) - (statistics.fmean(first) + statistics.fmean(last)) / 2
    se = noise.se_reversal(measured.long_run_sd, first=len(first), new=len(new), last=len(last))
    return Effect.of(
        difference, se, steps=len(new), freedom=_freedom(measured.effective_steps, spent=2)
    )


def pooled(forth: Effect, back: Effect) -> Effect:
    """Return one effect from a change and its reversal, measured as two comparisons over time.

    Both share the phase under the new values, which makes their errors opposite; the pooled
    difference is that of the reversal design and has seven eighths of the standard error.

    Args:
        forth: New minus old at the change.
        back: Old minus new at the reversal, over equally long phases.
    """
    se = math.sqrt(0.75 * (forth.se**2 + back.se**2) / 2)
    return Effect.of((forth.difference - back.difference) / 2, se, steps=forth.steps)


def arms(differences: Sequence[float], *, least_sd: float = 0.0) -> Effect:
    """Return the effect that concurrent arms show.

    Args:
        differences: New minus old of each step's batch, at least two.
        least_sd: The standard deviation to assume where the differences show less: a handful of
            equal differences is no proof that there is no noise.
    """
    n = len(differences)
    sd = max(statistics.stdev(differences), least_sd)
    return Effect.of(
        statistics.fmean(differences), sd / math.sqrt(n), steps=n, freedom=_freedom(n, spent=1)
    )


def twins(differences: Sequence[float], *, least_sd: float = 0.0) -> Effect:
    """Return the effect that a pair of forked runs shows.

    The runs drift apart, so that neighbouring differences resemble each other; the standard error
    allows for it. One pair is one draw: what it shows holds for this checkpoint and these seeds.

    Args:
        differences: New minus old of each step, at least two.
        least_sd: The standard deviation to assume where the differences show less.
    """
    measured = noise.of_differences(differences, least_sd=least_sd)
    se = measured.long_run_sd / math.sqrt(measured.steps)
    return Effect.of(
        measured.mean,
        se,
        steps=measured.steps,
        freedom=_freedom(measured.effective_steps, spent=1),
    )


def proximal_z(effect: Effect, *, direction: int) -> float:
    """Return how clearly a knob's own metric moved as predicted, in standard errors.

    Args:
        effect: On that metric, by the same design.
        direction: 1 if the metric was to rise, -1 if it was to fall.
    """
    if effect.se == 0:
        return math.copysign(math.inf, direction * effect.difference) if effect.difference else 0.0
    return direction * effect.difference / effect.se


def _freedom(steps: float, *, spent: int) -> int | None:
    """Return the degrees of freedom of a noise estimate; None where it counts as known."""
    return None if steps >= KNOWN_FROM else max(int(steps) - spent, 1)
