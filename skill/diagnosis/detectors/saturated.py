"""Saturated tasks: nothing left to learn from.

It asks for nothing harder by itself: how hard is hard enough is the gate's rule.
"""

from __future__ import annotations

from skill.diagnosis import signals
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

STEPS = 10
FULL = 0.95


def detect(window: Window) -> Symptom | None:
    """Look for success that has been almost full for a while."""
    points = signals.series(window.steps, "success")[-STEPS:]
    mean = signals.mean([point.value for point in points]) or 0.0
    if len(points) < STEPS or mean < FULL:
        return None
    return Symptom(
        "saturated_tasks",
        Party.ENVIRONMENT,
        f"Mean success over the last {STEPS} steps is {mean:.3f}: hardly an episode tells the "
        "policy anything new.",
        tuple(f"steps.jsonl#{point.step}" for point in points[-3:]),
        "Harder tasks or a harder user, one knob at a time: success is above the 0.80 that the "
        "gate asks for. environment.task_mix, user.match_threshold, user.min_questions.",
    )
