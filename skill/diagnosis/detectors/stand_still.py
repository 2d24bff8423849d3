"""Stand-still: the run says that it trains, and its heart has stopped.

A run that is paused, finished or failed says so itself and is not looked at.
"""

from __future__ import annotations

from skill import fence
from skill.diagnosis import signals
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

PATIENCE_S = 120.0
"""Seconds without a heartbeat that are always granted."""
PATIENCE_STEPS = 10.0
"""Times the usual length of a step."""
BUSY = frozenset({"starting", "warm_start", "training"})


def detect(window: Window) -> Symptom | None:
    """Compare the age of the heartbeat with how long a step usually takes."""
    heartbeat = signals.number(window.status, "heartbeat")
    if heartbeat is None or window.status.get("phase") not in BUSY:
        return None
    usual_s = signals.median(signals.values(window.steps, "step_s")) or 0.0
    patience_s = max(PATIENCE_S, PATIENCE_STEPS * usual_s)
    age_s = window.now - heartbeat
    if age_s <= patience_s:
        return None
    stage = fence.name(window.status.get("stage", "unknown"))
    step = signals.number(window.status, "step") or 0.0
    return Symptom(
        "stand_still",
        Party.INFRASTRUCTURE,
        f"No heartbeat for {age_s:.0f} s (a step takes {usual_s:.1f} s); the run was last seen in "
        f"stage {stage} after step {step:.0f}.",
        ("status.json#heartbeat",),
        "Does the process of status.json's pid still live? If not, `eau resume`; if so, the stage "
        "says where it waits: rollout (a world or an endpoint), learn, or checkpoint (the disk).",
    )
