"""Verdicts: the closed list of what may be said about a change, and when.

One pure function from evidence to one of seven words. Only `HARM` may be recorded as a harm and
only `HELP` as a help; "the mean went down" is neither. What a verdict leads to is decided
elsewhere; whether a success counts at all, in `gate.effects.anchors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gate.effects.designs import Declaration
from gate.effects.effect import Effect
from gate.effects.eprocess import HARM_AT
from gate.effects.tripwires import Tripwire

PROXIMAL_Z = 3.0
"""Standard errors by which a knob's own metric has surely moved."""

SLOPE_T = 2.0
"""Standard errors by which success is still rising."""


class Verdict(StrEnum):
    """What may be said about a change."""

    SAFETY_ROLLBACK = "safety_rollback"
    """The run was breaking; nothing is said about why."""
    HARM = "harm"
    """Success fell, and by more than is immaterial."""
    HELP = "help"
    """Success rose, and by more than is immaterial."""
    NULL = "null"
    """Whatever it does is immaterial."""
    LAGGING = "lagging"
    """It has begun to act and success may follow: hold."""
    PENDING = "pending"
    """Too early to tell: hold."""
    INCONCLUSIVE = "inconclusive"
    """The test is over and tells nothing."""

    @property
    def rolls_back(self) -> bool:
        """Whether it returns the run to the old values by itself."""
        return self in (Verdict.SAFETY_ROLLBACK, Verdict.HARM)

    @property
    def is_causal(self) -> bool:
        """Whether a lesson may state it as what the change does."""
        return self in (Verdict.HARM, Verdict.HELP, Verdict.NULL)


@dataclass(frozen=True)
class Evidence:
    """What is known about a change at one moment."""

    elapsed: int
    """Training steps since the test opened."""
    effect: Effect | None = None
    """The measured effect; None while there is none."""
    harm: float = 1.0
    """Evidence of harm (`HarmProcess.evidence`)."""
    help: float = 1.0
    """Evidence of help, where both sides play at once: that of harm with the signs turned."""
    proximal_z: float = 0.0
    """Movement of the knob's own metric as predicted, in standard errors."""
    slope_t: float = 0.0
    """Slope of success since the change, in standard errors."""
    tripped: tuple[Tripwire, ...] = ()
    noise_floor: float | None = None
    """What the same comparison shows where nothing was changed (`placebo.floor`), to be told."""


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason."""

    verdict: Verdict
    because: str
    """One sentence with the numbers that decided."""
    evidence: Evidence
    provisional: bool = False
    """True for a help that a run which improves by itself could also show: reverse it to know."""
    check_plumbing: bool = False
    """True when the knob has not even moved its own metric: does it arrive?"""

    def __str__(self) -> str:
        """Return verdict, reason and noise on one line."""
        word = f"{self.verdict.value}{' (provisional)' if self.provisional else ''}"
        parts = [f"{word}: {self.because}"]
        if self.evidence.effect is not None:
            parts.append(f"found 4 times in 5: {self.evidence.effect.detectable:.3f}")
        if self.evidence.noise_floor is not None:
            parts.append(f"noise floor: {self.evidence.noise_floor:.3f}")
        return "; ".join(parts)


def decide(declared: Declaration, evidence: Evidence) -> Judgement:
    """Return what may be said now; the first of these that holds.

    A tripwire; evidence of harm; evidence of help, where a trend cannot fake it; too early;
    harm, help or null by interval and margin; still acting, before the horizon; nothing.

    Args:
        declared: What was fixed before the test opened.
        evidence: What is known now. Between the two moments of `Declaration.looks` the caller
            holds and does not ask, except for tripwires and early evidence of harm or help.
    """
    if evidence.tripped:
        wires = ", ".join(evidence.tripped)
        return Judgement(Verdict.SAFETY_ROLLBACK, f"the run is breaking ({wires})", evidence)
    if evidence.harm >= HARM_AT:
        because = (
            f"the evidence of harm reached {evidence.harm:.1f} after {evidence.elapsed} steps "
            f"({HARM_AT:g} suffices)"
        )
        return Judgement(Verdict.HARM, because, evidence)
    if evidence.help >= HARM_AT and declared.design.is_free_of_trend:
        because = (
            f"the evidence of help reached {evidence.help:.1f} after {evidence.elapsed} steps "
            f"({HARM_AT:g} suffices)"
        )
        return Judgement(Verdict.HELP, because, evidence)
    if evidence.elapsed < declared.ready_after:
        return _too_early(declared, evidence)
    if evidence.effect is not None:
        decided = _by_interval(declared, evidence, evidence.effect)
        if decided is not None:
            return decided
    acting = evidence.proximal_z >= PROXIMAL_Z or evidence.slope_t >= SLOPE_T
    if evidence.elapsed < declared.horizon and acting:
        because = (
            f"no effect is shown yet, but it acts (its own metric moved by "
            f"{evidence.proximal_z:+.1f}, success is rising by {evidence.slope_t:+.1f} standard "
            f"errors); judged again after {declared.horizon} steps"
        )
        return Judgement(Verdict.LAGGING, because, evidence)
    found = "no step could be measured" if evidence.effect is None else str(evidence.effect)
    because = f"neither an effect nor its absence is shown: {found}"
    return Judgement(Verdict.INCONCLUSIVE, because, evidence)


def _too_early(declared: Declaration, evidence: Evidence) -> Judgement:
    passed = f"{evidence.elapsed} of {declared.ready_after} steps have passed"
    if abs(evidence.proximal_z) >= PROXIMAL_Z:
        because = (
            f"its own metric moved by {evidence.proximal_z:+.1f} standard errors and success may "
            f"follow; {passed}"
        )
        return Judgement(Verdict.LAGGING, because, evidence)
    idle = evidence.elapsed >= max(declared.lag, 1)
    return Judgement(Verdict.PENDING, passed, evidence, check_plumbing=idle)


def _by_interval(declared: Declaration, evidence: Evidence, effect: Effect) -> Judgement | None:
    margin = declared.margin
    if effect.high < 0 and effect.difference <= -margin:
        return Judgement(Verdict.HARM, f"success changed by {effect}", evidence)
    if effect.low > 0 and effect.difference >= margin:
        return Judgement(
            Verdict.HELP,
            f"success changed by {effect}",
            evidence,
            provisional=not declared.design.is_free_of_trend,
        )
    if effect.lies_within(margin):
        because = f"success changed by {effect}, which is within {margin:.3f} of nothing"
        return Judgement(Verdict.NULL, because, evidence)
    return None
