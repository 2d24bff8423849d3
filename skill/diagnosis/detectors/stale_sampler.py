"""Stale sampler: the weights that sample are not the weights that learn.

A gap that was there from the first step is rounding or another dtype; one that appears is a sync
that failed.
"""

from __future__ import annotations

from skill.diagnosis import signals
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

STEPS = 3
CERTAIN_GAP = 0.05
"""Mean difference of log-probabilities per token that no rounding explains, in nats."""
SUSPECT_GAP, FACTOR = 0.005, 10.0
"""A smaller one is suspect when it is so many times what it was before."""
LARGEST_CLIPPED = 0.10


def detect(window: Window) -> Symptom | None:
    """Compare what sampler and learner say about the same tokens."""
    gaps = signals.series(window.steps, "learner.sampler_logprob_gap_mean")
    clipped = signals.values(window.steps, "learner.tis_clipped_fraction")[-STEPS:]
    if len(gaps) < STEPS:
        return None
    before = signals.median([point.value for point in gaps[:-STEPS]])
    least = min(abs(point.value) for point in gaps[-STEPS:])
    jumped = before is not None and least > max(SUSPECT_GAP, FACTOR * abs(before))
    cut = len(clipped) == STEPS and min(clipped) > LARGEST_CLIPPED
    if not (least > CERTAIN_GAP or jumped or cut):
        return None
    usual = "unknown" if before is None else f"{before:.2g}"
    return Symptom(
        "stale_sampler",
        Party.INFRASTRUCTURE,
        f"Sampler and learner disagree by at least {least:.2g} nats per token over the last "
        f"{STEPS} steps (before: {usual}); {min(clipped, default=0.0):.0%} of the importance "
        "weights are cut.",
        tuple(f"steps.jsonl#{point.step}" for point in gaps[-STEPS:]),
        "policy_version in steps.jsonl and events engine_restart: did a weight sync fail, or was "
        "a cache not flushed? A dtype that differs between the two looks the same but steady.",
    )
