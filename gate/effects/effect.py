"""An effect: a measured difference with its standard error and its 95% interval.

The unit is that of what was measured, success rate unless said otherwise; new minus old. How the
number came about belongs to `gate.effects.estimate`, what it means to `gate.effects.verdicts`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from gate.effects import student

SIGNIFICANCE_Z = student.NORMAL_975
"""Standard errors that an effect must be away from zero, two-sided at 5%."""

POWER_Z = NormalDist().inv_cdf(0.80)
"""Standard errors beyond that for finding it four times in five."""


@dataclass(frozen=True)
class Effect:
    """What a change was measured to do."""

    difference: float
    """New minus old."""
    se: float
    """Standard error of the difference."""
    low: float
    """Lower end of the 95% interval."""
    high: float
    """Upper end of the 95% interval."""
    steps: int
    """Training steps under the new values that the difference rests on."""

    @classmethod
    def of(cls, difference: float, se: float, *, steps: int, freedom: int | None = None) -> Effect:
        """Return a difference with its interval.

        Args:
            difference: New minus old.
            se: Standard error, at least 0.
            steps: Training steps under the new values.
            freedom: Degrees of freedom of `se`; None when the noise is well known.

        Raises:
            ValueError: if a number is not finite or the standard error is negative.
        """
        if not (math.isfinite(difference) and math.isfinite(se) and se >= 0):
            raise ValueError(
                f"an effect of {difference} with standard error {se} is no measurement; "
                "leave out the steps without a number"
            )
        reach = SIGNIFICANCE_Z if freedom is None else student.quantile_975(freedom)
        return cls(difference, se, difference - reach * se, difference + reach * se, steps)

    @property
    def detectable(self) -> float:
        """The smallest true effect that such a test finds four times in five."""
        return (SIGNIFICANCE_Z + POWER_Z) * self.se

    def lies_within(self, margin: float) -> bool:
        """Return whether the whole interval is closer to zero than a margin."""
        return -margin < self.low and self.high < margin

    def __str__(self) -> str:
        """Return difference and interval, as in `+0.120 (95% interval +0.061 to +0.179)`."""
        return f"{self.difference:+.3f} (95% interval {self.low:+.3f} to {self.high:+.3f})"
