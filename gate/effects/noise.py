"""How much a run moves by itself: the noise that every effect is measured against.

A series of steps in which nothing was changed gives its spread and how long a deviation lasts.
Two steps that resemble each other are worth less than two that do not; the long-run standard
deviation says by how much.

Source:
    Small-sample correction of the lag-1 autocorrelation: r + (1 + 4r) / n (Kendall 1954).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from gate.effects import trend

FEWEST_BASELINE_STEPS = 20
"""Steps without a change that a noise model needs at least."""

MOST_AUTOCORRELATION = 0.9
"""Where the estimate is cut off: beyond, no window within a run would suffice."""

SUSPICIOUS_SHARE = 0.8
"""Of the noise that independent episodes have; less looks as if episodes were counted twice."""


@dataclass(frozen=True)
class Noise:
    """The spread of one number per step, around its own trend."""

    mean: float
    sd: float
    """Standard deviation of one step."""
    autocorrelation: float
    """Between neighbouring steps, corrected for the short series, in [0, .9]."""
    steps: int
    """Steps that it was measured on."""

    @property
    def inflation(self) -> float:
        """How much wider a mean over many steps spreads than if steps were independent."""
        return math.sqrt((1 + self.autocorrelation) / (1 - self.autocorrelation))

    @property
    def long_run_sd(self) -> float:
        """Standard deviation of a step as it counts in means over many steps."""
        return self.sd * self.inflation

    @property
    def effective_steps(self) -> float:
        """How many independent steps would tell the noise as well as these do."""
        return self.steps / self.inflation**2


def of_baseline(values: Sequence[float], *, least_sd: float = 0.0) -> Noise:
    """Return the noise of a series in which nothing was changed, its trend taken out.

    Args:
        values: One number per step, oldest first; thirty steps are usual.
        least_sd: The standard deviation to assume where the series shows less (see `least_sd`).

    Raises:
        ValueError: if there are fewer than `FEWEST_BASELINE_STEPS`.
    """
    if len(values) < FEWEST_BASELINE_STEPS:
        raise ValueError(
            f"{len(values)} steps without a change are too few to know the noise; wait until "
            f"there are {FEWEST_BASELINE_STEPS}"
        )
    fitted = trend.line(values)
    return Noise(
        mean=statistics.fmean(values),
        sd=max(fitted.sd, least_sd),
        autocorrelation=_autocorrelation(fitted.residuals),
        steps=len(values),
    )


def of_differences(values: Sequence[float], *, least_sd: float = 0.0) -> Noise:
    """Return the noise of paired differences, whatever they tend to left in.

    Two runs that drift apart do so because of the change or by chance, and nothing in one pair
    tells which; so a trend in the differences counts as noise.

    Args:
        values: One difference per step, at least two.
        least_sd: The standard deviation to assume where the series shows less.
    """
    mean = statistics.fmean(values)
    return Noise(
        mean=mean,
        sd=max(statistics.stdev(values), least_sd),
        autocorrelation=_autocorrelation([value - mean for value in values]),
        steps=len(values),
    )


def binomial_sd(success: float, episodes: float) -> float:
    """Return the standard deviation of a mean success over independent episodes."""
    return math.sqrt(success * (1 - success) / episodes)


def difference_sd(success: float, old: float, new: float, *, prompt_sd: float = 0.0) -> float:
    """Return the standard deviation of the difference between two sides of one step.

    Args:
        success: Mean success of both.
        old: Episodes under the old values.
        new: Episodes under the new values.
        prompt_sd: Spread of success over prompts, when both sides play the same ones: that part
            of the noise is shared and drops out of the difference.
    """
    within = success * (1 - success) - prompt_sd**2
    return math.sqrt(within / old + within / new)


def least_sd(success: float, episodes: int, steps: int) -> float:
    """Return the least standard deviation of one step that independent episodes can have.

    Also above zero where every episode of a baseline failed: one success and one failure are
    added, so that a run at zero is not taken for a run without noise.

    Args:
        success: Mean success over the baseline.
        episodes: Episodes of one step.
        steps: Steps of the baseline.
    """
    total = episodes * steps
    return SUSPICIOUS_SHARE * binomial_sd((success * total + 1) / (total + 2), episodes)


def looks_duplicated(noise: Noise, episodes: int) -> bool:
    """Return whether a series is calmer than independent episodes can be.

    Args:
        noise: Of the success rate, with `least_sd` at 0.
        episodes: Episodes of one step.
    """
    return noise.sd < SUSPICIOUS_SHARE * binomial_sd(noise.mean, episodes)


def se_before_after(long_run_sd: float, *, before: int, after: int) -> float:
    """Return the standard error of a mean after minus a mean before, by steps in each."""
    return long_run_sd * math.sqrt(1 / before + 1 / after)


def se_reversal(long_run_sd: float, *, first: int, new: int, last: int) -> float:
    """Return the standard error of new minus the mean of both old phases, by steps in each."""
    return long_run_sd * math.sqrt(1 / new + (1 / first + 1 / last) / 4)


def _autocorrelation(residuals: Sequence[float]) -> float:
    power = math.fsum(r * r for r in residuals)
    if power == 0:
        return 0.0
    raw = math.fsum(a * b for a, b in itertools.pairwise(residuals)) / power
    return min(max(raw + (1 + 4 * raw) / len(residuals), 0.0), MOST_AUTOCORRELATION)
