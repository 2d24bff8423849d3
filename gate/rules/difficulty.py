"""Tasks get harder only when the policy has mastered them as they are.

Mastered means that the anchors, training tasks under revision 0 of world and user, have a mean
success of at least `FLOOR` over the last `WINDOW` steps that had any: the success of all episodes
is under the very user and verifier that may have been made kinder. Fewer steps, or one without a
number, is not enough to tell, and then the answer is no.

Source:
    EAU: harder only if recent training success is at least .80.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from gate.contract.findings import Finding
from gate.rules.change_set import ChangeSet, Move
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="Tasks get harder only at a mean success of the anchors of 0.80 over 20 steps.",
    answers="EAU: max_steps raised at success below 0.80.",
)

FLOOR = 0.80
"""Mean success from which tasks may get harder."""

WINDOW = 20
"""Training steps that the mean is taken over."""

# The mean of twenty times 0.8 need not be 0.8 to the last bit.
_SLACK = 1e-9


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every knob that would make tasks harder too early."""
    harder = [move for move in change_set.moves if move.spec.is_harder(move.old, move.new)]
    if not harder:
        return
    recent = change_set.success_history[-WINDOW:]
    if len(recent) < WINDOW:
        found = f"not enough data: anchors were played in {len(recent)} of {WINDOW} steps"
    elif not all(math.isfinite(success) for success in recent):
        found = f"not enough data: a step of the last {WINDOW} has no success"
    elif math.fsum(recent) / WINDOW >= FLOOR - _SLACK:
        return
    else:
        found = (
            f"recent success of the anchors is {math.fsum(recent) / WINDOW:.2f} over {WINDOW} steps"
        )
    step = "Wait, or make an easier change first."
    if not recent:
        step = "Only anchors show mastery: give the recipe a rollout.anchor_share above 0."
    for move in harder:
        yield _refusal(change_set, move, found, step)


def _refusal(change_set: ChangeSet, move: Move, found: str, step: str) -> Finding:
    return change_set.finding(
        "difficulty",
        move.written,
        f"{move.written}: {move.old} -> {move.new} makes tasks harder, but {found}; "
        f"it must reach {FLOOR:.2f}.",
        step,
        value=move.new,
        limit=FLOOR,
    )
