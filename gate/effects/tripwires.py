"""Tripwires: signs that a run is breaking, whatever the reason.

They are read at every step and answer to no statistics. A wire that trips returns the run to
before its last revision if that revision can have done it, and names none otherwise; it never says
that a change was harmful. Each wire is set by what the run itself did before: a policy whose
entropy rises and falls in cycles, or a world in which users stall anyway, trips nothing by going
on as it was.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

GRADIENTS = ("actor_grad_norm", "critic_grad_norm")
ENTROPY = "entropy"
KL = "kl"

GRADIENT_FACTOR = 10.0
"""Times the baseline's median at which a gradient norm counts as a burst."""

ENTROPY_LOW, ENTROPY_HIGH = 0.5, 2.0
"""Times the baseline's median, or where its trend has got to, between which the entropy of actions
stays."""

TREND_STEPS = 10
"""Steps that a baseline needs to show a trend."""

ENTROPY_STEPS = 3
"""Steps in a row that the entropy must be outside."""

KL_CAP = 0.5
"""Nats a token from the reference policy up to which a distance always counts as calm."""

KL_FACTOR = 3.0
"""Times the baseline's largest distance that the cap lies above it, if that is more: a policy that
learns moves away."""

KL_STEPS = 3
"""Steps in a row that the distance must be over its cap: single batches measure it by chance."""

MOST_DEADLOCK = 0.20
"""Share of episodes in which user and agent wait for each other."""

MOST_QUARANTINED = 0.25
"""Share of episodes that the infrastructure spoils."""

QUARANTINE_STEPS = 2
"""Steps in a row that the share must be above what the baseline knew: an outage passes."""

ANSWERABLE_STEPS = 10
"""Steps after its lag for which a revision answers for what breaks."""


class Tripwire(StrEnum):
    """What broke."""

    NOT_FINITE = "not_finite"
    """A number of the update is NaN or infinite."""
    GRADIENT_BURST = "gradient_burst"
    ENTROPY_COLLAPSE = "entropy_collapse"
    ENTROPY_ERUPTION = "entropy_eruption"
    KL_OVER_CAP = "kl_over_cap"
    DEADLOCK = "deadlock"
    QUARANTINE = "quarantine"
    """Worlds or users break: episodes are spoiled that were not before."""


@dataclass(frozen=True)
class Vitals:
    """The numbers of one step that tell whether a run is well."""

    step: int
    learner: Mapping[str, float] = field(default_factory=dict[str, float])
    """What the update measured, by the names of the step record."""
    deadlock: float | None = None
    """Share of episodes that stalled; None where no world tells."""
    quarantined: float | None = None
    """Share of episodes that were spoiled; None where no record tells."""


class Trend(NamedTuple):
    """A quantity that grows or shrinks by the same factor every step."""

    step: float
    """Where it is known best."""
    log_level: float
    """Logarithm of its level there."""
    slope: float = 0.0
    """What one step adds to the logarithm."""

    def at(self, step: int) -> float:
        """Return its level at a step."""
        return math.exp(self.log_level + self.slope * (step - self.step))


@dataclass(frozen=True)
class Calm:
    """The range that a run kept to before a change."""

    gradients: Mapping[str, float]
    """Median of each gradient norm."""
    entropy_low: float
    entropy_high: float
    entropy: Trend | None
    """How the entropy was moving; None where too little is known."""
    deadlock: float
    """Largest share that still counts as calm."""
    kl: float = KL_CAP
    """Largest distance from the reference policy that still counts as calm, in nats a token."""

    def entropy_range(self, step: int) -> tuple[float, float]:
        """Return the least and the largest entropy that are calm at a step; NaN for no bound."""
        expected = math.nan if self.entropy is None else self.entropy.at(step)
        # A NaN in second place never replaces what stands before it.
        low = min(self.entropy_low, ENTROPY_LOW * expected)
        return low, max(self.entropy_high, ENTROPY_HIGH * expected)

    quarantined: float = MOST_QUARANTINED
    """Largest share that still counts as calm."""


@dataclass(frozen=True)
class LastRevision:
    """The newest revision in force, as far as blame needs it."""

    number: int
    first_step: int
    lag: int
    """Largest expected lag of what it changed, in steps."""


def calm(baseline: Sequence[Vitals]) -> Calm:
    """Return the range that the steps before a change kept to.

    The entropy may go as far as it went in them, at least to half and twice their median, and as
    far beyond as their trend leads: a policy that learns becomes surer of itself. The wires of
    gradients and entropy never trip without a baseline.
    """
    gradients = {name: _finite(baseline, name) for name in GRADIENTS}
    entropy = _finite(baseline, ENTROPY)
    middle = statistics.median(entropy) if entropy else math.nan
    stalls = [vitals.deadlock for vitals in baseline if vitals.deadlock is not None]
    spoiled = [vitals.quarantined for vitals in baseline if vitals.quarantined is not None]
    return Calm(
        gradients={name: statistics.median(norms) for name, norms in gradients.items() if norms},
        entropy_low=min([ENTROPY_LOW * middle, *entropy]),
        entropy_high=max([ENTROPY_HIGH * middle, *entropy]),
        entropy=_trend(baseline, ENTROPY),
        deadlock=max([MOST_DEADLOCK, *stalls]),
        kl=max([KL_CAP, *(KL_FACTOR * kl for kl in _finite(baseline, KL))]),
        quarantined=max([MOST_QUARANTINED, *spoiled]),
    )


def tripped(recent: Sequence[Vitals], before: Calm) -> tuple[Tripwire, ...]:
    """Return the wires that the newest step trips.

    Args:
        recent: The last steps, oldest first; wires that want several in a row need as many.
        before: The range of the baseline.
    """
    now = recent[-1]
    found: list[Tripwire] = []
    if not all(math.isfinite(number) for number in now.learner.values()):
        found.append(Tripwire.NOT_FINITE)
    if any(
        now.learner.get(name, 0.0) > GRADIENT_FACTOR * median
        for name, median in before.gradients.items()
    ):
        found.append(Tripwire.GRADIENT_BURST)
    lately = recent[-ENTROPY_STEPS:]
    if len(_finite(lately, ENTROPY)) == ENTROPY_STEPS:
        ranges = [(one.learner[ENTROPY], *before.entropy_range(one.step)) for one in lately]
        if all(entropy < low for entropy, low, _ in ranges):
            found.append(Tripwire.ENTROPY_COLLAPSE)
        if all(entropy > high for entropy, _, high in ranges):
            found.append(Tripwire.ENTROPY_ERUPTION)
    distances = _finite(recent[-KL_STEPS:], KL)
    if len(distances) == KL_STEPS and min(distances) > before.kl:
        found.append(Tripwire.KL_OVER_CAP)
    if now.deadlock is not None and now.deadlock > before.deadlock:
        found.append(Tripwire.DEADLOCK)
    spoiled = [one.quarantined or 0.0 for one in recent[-QUARANTINE_STEPS:]]
    if len(spoiled) == QUARANTINE_STEPS and min(spoiled) > before.quarantined:
        found.append(Tripwire.QUARANTINE)
    return tuple(found)


def culprit(step: int, last: LastRevision) -> int | None:
    """Return the revision to go back from, or None if the last one cannot have done it.

    Args:
        step: The step at which a wire tripped.
        last: The newest revision; the launch, number 0, has nothing before it.
    """
    if last.number == 0 or step < last.first_step:
        return None
    return last.number if step - last.first_step < last.lag + ANSWERABLE_STEPS else None


def _finite(steps: Sequence[Vitals], name: str) -> list[float]:
    numbers = (vitals.learner.get(name, math.nan) for vitals in steps)
    return [number for number in numbers if math.isfinite(number)]


def _trend(steps: Sequence[Vitals], name: str) -> Trend | None:
    """Return the least-squares line through the logarithms of a number; None with too few."""
    known = [
        (one.step, math.log(value))
        for one in steps
        if math.isfinite(value := one.learner.get(name, math.nan)) and value > 0
    ]
    if len(known) < TREND_STEPS:
        return None
    line = statistics.linear_regression(*zip(*known, strict=True))
    middle = statistics.mean(step for step, _ in known)
    return Trend(middle, line.intercept + line.slope * middle, line.slope)
