"""KL blow-up: the policy runs away from its reference, or one update moves it too far.

Which direction the policy took is not known, only how far.
"""

from __future__ import annotations

from skill.diagnosis import signals
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

STEPS = 3
FEWEST_BEFORE = 5
REFERENCE_CAP, REFERENCE_FACTOR = 1.0, 3.0
"""Divergence from the reference per token, and times what it was before."""
UPDATE_CAP = 0.1
"""Divergence of one update from the policy that sampled."""


def detect(window: Window) -> Symptom | None:
    """Look at the divergence from the reference and at that of single updates."""
    reference = signals.series(window.steps, "learner.kl")
    if len(reference) >= STEPS + FEWEST_BEFORE:
        before = signals.median([point.value for point in reference[:-STEPS]]) or 0.0
        last = [point.value for point in reference[-STEPS:]]
        if min(last) > max(REFERENCE_CAP, REFERENCE_FACTOR * before):
            return _symptom(
                f"KL to the reference is at least {min(last):.3g} per token over the last {STEPS} "
                f"steps; its median before was {before:.3g}.",
                reference[-STEPS:],
            )
    update = signals.series(window.steps, "learner.policy_kl")[-STEPS:]
    if len(update) == STEPS and min(point.value for point in update) > UPDATE_CAP:
        return _symptom(
            f"Each of the last {STEPS} updates moved the policy by more than {UPDATE_CAP} nats "
            "per token.",
            update,
        )
    return None


def _symptom(sentence: str, points: list[signals.Point]) -> Symptom:
    return Symptom(
        "kl_blow_up",
        Party.CONFIGURATION,
        sentence,
        tuple(f"steps.jsonl#{point.step}" for point in points),
        "agent.actor_lr, agent.ppo_epochs and agent.kl_coeff; do not move the first and the last "
        "by large factors in one write. Read dialogues: is it one reply for every input?",
    )
