"""Detectors: one file each, listed here and nowhere else.

Each looks at a window and returns a symptom or nothing; none raises for what a record lacks, and
none knows the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from skill.diagnosis.detectors import (
    broken_update,
    dead_critic,
    deadlock,
    entropy,
    false_negative,
    fell_with_revision,
    invalid_reactions,
    judge,
    kl,
    length_hacking,
    never_solved,
    repetition,
    reward_hacking,
    saturated,
    silent_tool,
    stale_sampler,
    stand_still,
    step_cap,
    user_drift,
    user_leak,
    vacuous_pass,
)
from skill.diagnosis.symptoms import Symptom
from skill.diagnosis.windows import Window

Detector = Callable[[Window], Symptom | None]

DETECTORS: Mapping[str, Detector] = {
    "stand_still": stand_still.detect,
    "broken_update": broken_update.detect,
    "judge_unavailable": judge.detect,
    "stale_sampler": stale_sampler.detect,
    "fell_with_revision": fell_with_revision.detect,
    "silent_tool": silent_tool.detect,
    "verifier_false_negative": false_negative.detect,
    "vacuous_pass": vacuous_pass.detect,
    "user_leak": user_leak.detect,
    "deadlock": deadlock.detect,
    "user_drift": user_drift.detect,
    "invalid_reactions": invalid_reactions.detect,
    "step_cap": step_cap.detect,
    "reward_hacking": reward_hacking.detect,
    "length_hacking": length_hacking.detect,
    "repetition": repetition.detect,
    "entropy": entropy.detect,
    "kl_blow_up": kl.detect,
    "dead_critic": dead_critic.detect,
    "never_solved": never_solved.detect,
    "saturated_tasks": saturated.detect,
}
"""In the order in which to doubt: a later symptom is often a consequence of an earlier one."""


def examine(window: Window) -> list[Symptom]:
    """Return every symptom of a window, the one to look at first first."""
    return [symptom for detect in DETECTORS.values() if (symptom := detect(window)) is not None]
