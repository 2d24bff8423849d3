"""The harm e-process: evidence that a change harms, which may be looked at after every step.

It is the wealth of a bettor who bets on harm. While the change costs no more than the margin, the
wealth does not grow on average, so it reaches 20 in fewer than one of twenty such changes, however
often one looks. Pure arithmetic on one number per step: the guard runs it at every step.

Source:
    Ramdas, Grünwald, Vovk, Shafer 2023, Game-theoretic statistics and safe anytime-valid inference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

HARM_AT = 20.0
"""Evidence at which harm is told: 1 / .05."""

_LARGEST_LOG = 700.0
"""Where the exponential function would overflow."""


@dataclass(frozen=True)
class HarmProcess:
    """The evidence so far, as a value: `after` returns the next one.

    The null hypothesis is that the mean change is at least `-margin`.
    """

    sd: float
    """Long-run standard deviation of one step (`Noise.long_run_sd`), above 0."""
    margin: float
    """Loss that does not count as harm, in the unit of the series; above 0."""
    log_evidence: float = 0.0
    steps: int = 0
    """Steps that were counted."""
    crossed_at: int | None = None
    """The number of the first step at which the evidence reached `HARM_AT`."""

    def __post_init__(self) -> None:
        """Refuse a process that could not learn anything.

        Raises:
            ValueError: if the noise or the margin is not above zero.
        """
        if not (self.sd > 0 and self.margin > 0):
            raise ValueError(
                f"a harm process needs noise and margin above 0, not {self.sd} and {self.margin}; "
                "assume at least the noise of independent episodes (noise.least_sd)"
            )

    @property
    def evidence(self) -> float:
        """How many times the bettor's wealth has grown; 1 at the start."""
        return math.exp(min(self.log_evidence, _LARGEST_LOG))

    @property
    def harm(self) -> bool:
        """True from the first crossing on: the promise covers a first look, not a last one."""
        return self.crossed_at is not None

    def after(self, change: float) -> HarmProcess:
        """Return the process after one more step.

        Args:
            change: The step's success minus that of the baseline, or new minus old of one batch.

        Raises:
            ValueError: if it is not finite: a step without a number is left out by the caller.
        """
        if not math.isfinite(change):
            raise ValueError(f"{change} is no change of success; leave this step out")
        stake = self.margin / self.sd**2
        growth = stake * -(change + self.margin) - (stake * self.sd) ** 2 / 2
        evidence, steps = self.log_evidence + growth, self.steps + 1
        crossed = self.crossed_at
        if crossed is None and evidence >= math.log(HARM_AT):
            crossed = steps
        return replace(self, log_evidence=evidence, steps=steps, crossed_at=crossed)

    def after_all(self, changes: Iterable[float]) -> HarmProcess:
        """Return the process after several more steps, oldest first."""
        process = self
        for change in changes:
            process = process.after(change)
        return process
