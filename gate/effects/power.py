"""Power: how long a test must be to find what it looks for, told before it opens.

A test that could not find the effect it is about is "underpowered by design": its likeliest
outcome is nothing learnt, whatever is true. Windows are for a two-sided test at 5% that finds the
effect four times in five.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gate.contract.findings import Finding, Severity
from gate.effects import noise
from gate.effects.designs import MARGIN, SHORTEST_WINDOW, Declaration, Design
from gate.effects.effect import POWER_Z, SIGNIFICANCE_Z

DETECTABLE_SE = SIGNIFICANCE_Z + POWER_Z
"""2.80: the effect found four times in five, in standard errors."""

UNDERPOWERED = "effects.underpowered"
"""The rule that refuses a test which is too short for its effect."""

_SLACK = 1e-9


def noise_ratio(long_run_sd: float, effect: float) -> float:
    """Return the steps that a mean needs for an effect, were the other side known exactly.

    Args:
        long_run_sd: Noise of one step, in the unit of the effect.
        effect: Size to be found, not 0.
    """
    return (DETECTABLE_SE * long_run_sd / effect) ** 2


def steps_before_after(
    long_run_sd: float, effect: float, *, baseline: int | None = None
) -> int | None:
    """Return the steps of the window after a change.

    Args:
        long_run_sd: Noise of one step.
        effect: Size to be found.
        baseline: Steps before; None for as many as after.

    Returns:
        The steps, or None if no window suffices beside so short a baseline.
    """
    ratio = noise_ratio(long_run_sd, effect)
    if baseline is None:
        return _ceil(2 * ratio)
    return None if ratio >= baseline else _ceil(ratio / (1 - ratio / baseline))


def steps_reversal(long_run_sd: float, effect: float) -> int:
    """Return the steps of each of the three phases."""
    return _ceil(1.5 * noise_ratio(long_run_sd, effect))


def steps_paired(difference_sd: float, effect: float) -> int:
    """Return the steps of concurrent arms or twins, by the noise of one step's difference."""
    return _ceil(noise_ratio(difference_sd, effect))


def standard_error(declared: Declaration, long_run_sd: float) -> float:
    """Return the standard error that a declared test will have.

    Args:
        declared: The test.
        long_run_sd: Noise of one step; of one step's difference where two sides are paired.
    """
    window = declared.window
    if declared.design is Design.BEFORE_AFTER:
        return noise.se_before_after(long_run_sd, before=declared.baseline, after=window)
    if declared.layout is not None:
        counted = declared.shortest_phase - declared.washout
        new = declared.layout.back - declared.layout.forth - declared.washout
        return noise.se_reversal(long_run_sd, first=counted, new=new, last=counted)
    return long_run_sd / math.sqrt(window)


def margin(detectable: float) -> float:
    """Return the smallest effect that counts as material, to be declared before the opening.

    Args:
        detectable: The smallest effect that the test finds four times in five.
    """
    return max(MARGIN, detectable / 2)


@dataclass(frozen=True)
class Plan:
    """What can be expected of a test, told before it opens."""

    steps: int | None
    """Steps that it needs in all, lag included; None if no number suffices."""
    remaining: int
    """Steps that are left for it."""
    effect: float
    """Size it is to find."""
    detectable: float
    """Size that it would find four times in five within the steps that are left; inf for none."""

    @property
    def feasible(self) -> bool:
        """Whether it fits into what is left."""
        return self.steps is not None and self.steps <= self.remaining

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Why the test must not open; none if it may."""
        if self.feasible:
            return ()
        needed = "no number of steps" if self.steps is None else f"{self.steps} steps"
        found = (
            f"What is left can find an effect of {self.detectable:.3f}: look for that, "
            if math.isfinite(self.detectable)
            else "What is left can find no effect: "
        )
        return (
            Finding(
                rule=UNDERPOWERED,
                severity=Severity.ERROR,
                message=(
                    f"Underpowered by design: an effect of {self.effect:.3f} needs {needed}, "
                    f"and {self.remaining} are left."
                ),
                next_step=f"{found}compare twins (`eau twins`), or give the run more steps.",
                value=self.steps,
                limit=self.remaining,
            ),
        )


def plan(
    design: Design,
    long_run_sd: float,
    effect: float,
    *,
    remaining: int,
    lag: int = 0,
    baseline: int | None = None,
    washout: int = 1,
) -> Plan:
    """Return what a test of one design needs, and what the steps that are left would show.

    Args:
        design: How the values are compared.
        long_run_sd: Noise of one step; of one step's difference where two sides are paired.
        effect: Size to be found, above 0.
        remaining: Training steps that are left.
        lag: Steps after the opening that are not measured.
        baseline: Steps before the opening; used by `BEFORE_AFTER` alone.
        washout: Steps lost after each switch; used by `REVERSAL` alone.
    """
    needed = _steps_needed(design, long_run_sd, effect, baseline=baseline, washout=washout)
    detectable = DETECTABLE_SE * _se_of(
        design, long_run_sd, remaining - lag, baseline=baseline, washout=washout
    )
    return Plan(None if needed is None else lag + needed, remaining, effect, detectable)


def _steps_needed(
    design: Design, long_run_sd: float, effect: float, *, baseline: int | None, washout: int
) -> int | None:
    if design is Design.REVERSAL:
        return 3 * (max(steps_reversal(long_run_sd, effect), SHORTEST_WINDOW) + washout)
    if design is Design.BEFORE_AFTER:
        steps = steps_before_after(long_run_sd, effect, baseline=baseline)
    else:
        steps = steps_paired(long_run_sd, effect)
    return None if steps is None else max(steps, SHORTEST_WINDOW)


def _se_of(
    design: Design, long_run_sd: float, steps: int, *, baseline: int | None, washout: int
) -> float:
    """Return the standard error of a test of so many steps; inf where they show nothing."""
    if design is Design.REVERSAL:
        phase = steps // 3 - washout
        if phase < SHORTEST_WINDOW:
            return math.inf
        return noise.se_reversal(long_run_sd, first=phase, new=phase, last=phase)
    if steps < SHORTEST_WINDOW:
        return math.inf
    if design is Design.BEFORE_AFTER:
        return noise.se_before_after(long_run_sd, before=baseline or steps, after=steps)
    return long_run_sd / math.sqrt(steps)


def _ceil(steps: float) -> int:
    return math.ceil(steps - _SLACK)
