"""Entropy collapse and eruption: the policy stops choosing, or chooses at random.

Low entropy with high success is a learnt task, and this cannot tell; the reader must.
"""

from __future__ import annotations

from skill.diagnosis import signals
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

STEPS = 3
"""Steps in a row that must be outside."""
FEWEST_BEFORE = 10
LOW, HIGH = 0.5, 2.0
"""Times the median before, as the gate's tripwire has it."""
SLOW_LOW = 0.1
"""Times the first median of a run: what a slow collapse comes to."""


def detect(window: Window) -> Symptom | None:
    """Compare the last steps with the range that the run kept to before.

    The range is as wide as the run's own: entropy that goes up and down in cycles is no alarm.

    Source:
        Cyclical entropy eruption, arXiv 2605.27954; tripwires of `gate.effects.tripwires`.
    """
    points = signals.series(window.history, "learner.entropy")
    recent = signals.values(window.steps, "learner.entropy")
    if len(recent) < STEPS + FEWEST_BEFORE:
        return None
    before, last = recent[:-STEPS], recent[-STEPS:]
    usual = signals.median(before) or 0.0
    first = signals.median([point.value for point in points[:FEWEST_BEFORE]]) or 0.0
    evidence = tuple(f"steps.jsonl#{point.step}" for point in points[-STEPS:])
    numbers = f"{max(last):.4g} at most over the last {STEPS} steps, {usual:.4g} before"
    if max(last) < min(LOW * usual, *before) or max(last) < SLOW_LOW * first:
        return Symptom(
            "entropy_collapse",
            Party.POLICY,
            f"The entropy of the policy's actions fell: {numbers}, {first:.4g} at first.",
            evidence,
            "Success first: low entropy with high success is a learnt task. If success stalls, "
            "agent.entropy_coeff and agent.actor_lr; effects of these lag by many steps.",
        )
    if min(last) > max(HIGH * usual, *before):
        return Symptom(
            "entropy_eruption",
            Party.POLICY,
            f"The entropy of the policy's actions shot up: {min(last):.4g} at least over the last "
            f"{STEPS} steps, {usual:.4g} before.",
            evidence,
            "Gradient norms and clip fraction at these steps; agent.actor_lr and "
            "agent.entropy_coeff; whether a tool began to answer something unusual.",
        )
    return None
