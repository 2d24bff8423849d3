"""Reward hacking: what is paid rises, what is wanted does not.

Held-out success would be the better witness and stays out of reach on purpose; what is compared is
the verifier's word in training.
"""

from __future__ import annotations

from skill.diagnosis import signals
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Record, Window

LEAST_RISE = 0.05
FLAT = 0.02
"""Largest rise of success that still counts as none."""


def detect(window: Window) -> Symptom | None:
    """Compare rewards and success from the first third to the last, lately and over the run."""
    for steps in (window.steps, window.history):
        if found := _hacked(steps):
            return found
    return None


def _hacked(steps: tuple[Record, ...]) -> Symptom | None:
    success = signals.shift(signals.values(steps, "success"))
    if success is None:
        return None
    for path, told in (("shaping_reward", "shaping"), ("reward", "reward")):
        paid = signals.shift(signals.values(steps, path))
        if paid is None or not paid.rises(LEAST_RISE):
            continue
        # All reward together may rise a little by partial credit; then success must fall.
        ceiling = FLAT if path == "shaping_reward" else -LEAST_RISE
        if success.change <= ceiling:
            points = signals.series(steps, path)
            return Symptom(
                "reward_hacking",
                Party.CONFIGURATION,
                f"Mean {told} went from {paid.before:.3f} to {paid.after:.3f} per episode while "
                f"success went from {success.before:.3f} to {success.after:.3f}.",
                tuple(f"steps.jsonl#{point.step}" for point in (points[0], *points[-3:])),
                "reward_by_rule in steps.jsonl: which rule grew? Read an episode that it pays and "
                "that failed, then the rule in reward.yaml: can it pay twice, or for nothing?",
            )
    return None
