"""Stale sampler: the weights that sample are not the weights that learn.

A gap that was there from the first step is rounding or another dtype; one that appears is a sync
that failed. A batch that is meant to be learnt from late has a gap of its own, of what the update
between has changed: it is compared with batches of the same age alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
    """Compare what sampler and learner say about the same tokens, age by age."""
    by_age: dict[int, list[Mapping[str, Any]]] = {}
    for record in window.steps:
        by_age.setdefault(int(signals.number(record, "staleness") or 0), []).append(record)
    for age, steps in sorted(by_age.items()):
        if (found := _of_age(steps, age)) is not None:
            return found
    return None


def _of_age(steps: Sequence[Mapping[str, Any]], age: int) -> Symptom | None:
    """Look at the steps whose batches were so many updates old."""
    gaps = signals.series(steps, "learner.sampler_logprob_gap_mean")
    clipped = signals.values(steps, "learner.tis_clipped_fraction")[-STEPS:]
    if len(gaps) < STEPS:
        return None
    before = signals.median([point.value for point in gaps[:-STEPS]])
    least = min(abs(point.value) for point in gaps[-STEPS:])
    # What an update changes is no rounding: late batches are certain of nothing but a jump.
    suspect = CERTAIN_GAP if age else SUSPECT_GAP
    jumped = before is not None and least > max(suspect, FACTOR * abs(before))
    certain = age == 0 and least > CERTAIN_GAP
    cut = len(clipped) == STEPS and min(clipped) > LARGEST_CLIPPED
    if not (certain or jumped or cut):
        return None
    usual = "unknown" if before is None else f"{before:.2g}"
    late = f" whose batch is {age} update{'s' * (age > 1)} old" if age else ""
    return Symptom(
        "stale_sampler",
        Party.INFRASTRUCTURE,
        f"Sampler and learner disagree by at least {least:.2g} nats per token over the last "
        f"{STEPS} steps{late} (before: {usual}); {min(clipped, default=0.0):.0%} of the "
        "importance weights are cut.",
        tuple(f"steps.jsonl#{point.step}" for point in gaps[-STEPS:]),
        "policy_version in steps.jsonl and events engine_restart: did a weight sync fail, or was "
        "a cache not flushed? A dtype that differs between the two looks the same but steady."
        + (" Or the updates are too large to be learnt from late." if age else ""),
    )
