"""Invalid reactions: the user's model gives no usable label, so credit hears less of the user.

Only credit by reactions reports a share of them; every other run never shows it. Symbolic users
label by rule and are always valid.
"""

from __future__ import annotations

import statistics

from skill.diagnosis import signals
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

STEPS = 10
FEWEST = 5
LARGEST_SHARE = 0.05
"""Share of reactions without a usable label; Faca alarms above it."""


def detect(window: Window) -> Symptom | None:
    """Look at the mean share of reactions whose label was none of the known strategies."""
    points = signals.series(window.steps, "learner.credit_reactions_invalid")[-STEPS:]
    if len(points) < FEWEST:
        return None
    share = statistics.fmean(point.value for point in points)
    if share <= LARGEST_SHARE:
        return None
    worst = sorted(sorted(points, key=lambda point: point.value)[-3:], key=lambda one: one.step)
    return Symptom(
        "invalid_reactions",
        Party.USER,
        f"{share:.0%} of the user's reactions in the last {len(points)} steps had no usable label "
        f"({LARGEST_SHARE:.0%} is the limit); they count as 0, and credit hears less of the user.",
        tuple(f"steps.jsonl#{point.step}" for point in worst),
        "The model that plays the user: does it follow its JSON form (constrained decoding, the "
        "prompt, max_new_tokens)? Private labels stand in the episodes' turns.",
    )
