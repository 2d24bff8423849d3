"""Verdicts cannot be bought: success under one's own user and verifier proves little.

A laxer verifier or a chattier user raises the success rate and teaches nothing. So some episodes
of every batch, the anchors, are training tasks under revision 0 of world and user. A help needs
anchors that are not worse; a change that makes episodes easier, or may do so, is never a help by
the success of those very episodes; and mastery is what the anchors show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from gate.contract.knobs import Harder, KnobSpec, Scope
from gate.effects.designs import Declaration
from gate.effects.effect import Effect
from gate.effects.verdicts import Judgement, Verdict

LONGEST_GAP = 5
"""Steps without an anchor after which older anchors no longer tell what the policy masters."""


class Ease(StrEnum):
    """What a change does to the difficulty of the episodes that measure it."""

    EASIER = "easier"
    HARDER = "harder"
    UNCHANGED = "unchanged"
    """It acts on learning alone."""
    UNKNOWN = "unknown"
    """It rewrites what is played, and nothing says which way: a world, user rules, a persona."""


def ease_of(spec: KnobSpec, old: Any, new: Any) -> Ease:
    """Return what one knob's change does to the difficulty of its own episodes."""
    if spec.scope is Scope.LEARNER:
        return Ease.UNCHANGED
    if spec.is_harder(old, new):
        return Ease.HARDER
    return Ease.UNKNOWN if spec.harder is Harder.NONE else Ease.EASIER


def ease_together(changes: Iterable[Ease]) -> Ease:
    """Return what several changes do together; one that may help itself decides."""
    found = set(changes)
    ranked = (Ease.EASIER, Ease.UNKNOWN, Ease.HARDER)
    return next((ease for ease in ranked if ease in found), Ease.UNCHANGED)


def are_not_worse(anchors: Effect, margin: float) -> bool:
    """Return whether anchors held: neither fallen for sure nor by a material amount."""
    return anchors.high >= 0 and anchors.difference > -margin


def bounded(
    judgement: Judgement, declared: Declaration, *, ease: Ease, anchors: Effect | None
) -> Judgement:
    """Return the judgement that remains once the anchors are asked.

    Every verdict but `HELP` stays as it is. A help without anchors, or with worse ones, is
    inconclusive. One of a change that makes its own episodes easier is waited with until the
    horizon and then shows nothing about the policy: whether it learns better, a test of the
    anchors alone can tell.

    Args:
        judgement: By the success of the changed episodes (`verdicts.decide`).
        declared: What was fixed before the test opened.
        ease: What the change does to the difficulty of those episodes; `UNCHANGED` where the
            anchors themselves are what was measured.
        anchors: Effect on the anchors, after minus before; None without any.
    """
    if judgement.verdict is not Verdict.HELP:
        return judgement
    if ease in (Ease.EASIER, Ease.UNKNOWN):
        waiting = judgement.evidence.elapsed < declared.horizon
        shown = "the anchors were not played" if anchors is None else f"anchors: {anchors}"
        return replace(
            judgement,
            verdict=Verdict.LAGGING if waiting else Verdict.NULL,
            because=(
                f"{judgement.because}, but the change "
                f"{'makes' if ease is Ease.EASIER else 'may make'} its own episodes easier, which "
                f"is no effect on the policy; {shown}"
            ),
            provisional=False,
        )
    if anchors is None:
        reason = "no anchors were played, so nothing shows that the policy became better"
    elif not are_not_worse(anchors, declared.margin):
        reason = f"the anchors became worse: {anchors}"
    else:
        return judgement
    return replace(
        judgement,
        verdict=Verdict.INCONCLUSIVE,
        because=f"{judgement.because}, but {reason}",
        provisional=False,
    )


def mastery(anchor_success: Sequence[float | None]) -> tuple[float, ...]:
    """Return the success that decides whether tasks may get harder: that of the anchors.

    Args:
        anchor_success: Mean success of the anchors of each training step, oldest first; None
            where a step had none.

    Returns:
        The steps that had anchors, back to the first gap of more than `LONGEST_GAP` steps.
    """
    found: list[float] = []
    gap = 0
    for success in reversed(anchor_success):
        if success is not None:
            found.append(success)
            gap = 0
        elif (gap := gap + 1) > LONGEST_GAP:
            break
    return tuple(reversed(found))
