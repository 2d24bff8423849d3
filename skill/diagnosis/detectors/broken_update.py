"""Broken update: a loss or gradient was not finite, or there was nothing to learn from.

Why a number broke is not recorded; the steps before it are where to look.
"""

from __future__ import annotations

import math
from typing import Any

from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

RECENT_STEPS = 5
EVENTS = frozenset({"update_failed", "no_update", "constant_reward"})


def detect(window: Window) -> Symptom | None:
    """Look for NaN in the newest steps and for events that tell of updates undone."""
    recent = window.steps[-RECENT_STEPS:]
    newest = _step(recent[-1]) if recent else 0
    broken = [record for record in recent if _not_finite(record.get("learner"))]
    told = [
        event
        for event in window.events
        if event.get("kind") in EVENTS and _step(event) > newest - RECENT_STEPS
    ]
    if not broken and not told:
        return None
    kinds = sorted({str(event["kind"]) for event in told})
    evidence = [f"steps.jsonl#{_step(record)}" for record in broken]
    evidence += [f"events.jsonl#{_step(event)}" for event in told]
    return Symptom(
        "broken_update",
        Party.CONFIGURATION,
        f"In the last {RECENT_STEPS} steps {len(broken)} records hold numbers that are not finite "
        f"and {len(told)} events tell of updates that failed or had nothing to learn "
        f"({', '.join(kinds) or 'none'}).",
        tuple(evidence[-6:]),
        "agent.actor_lr and the gradient norms before it; for a constant reward, whether every "
        "episode solves or none does, and whether all reward weights are 0.",
    )


def _step(record: Any) -> int:
    step = record.get("step")
    return step if isinstance(step, int) else 0


def _not_finite(learner: object) -> bool:
    if not isinstance(learner, dict):
        return False
    return any(isinstance(value, float) and not math.isfinite(value) for value in learner.values())
