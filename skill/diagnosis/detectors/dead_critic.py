"""Dead critic: its values explain nothing of the returns.

Recipes without a critic report no explained variance and never show it.
"""

from __future__ import annotations

from skill.diagnosis import signals
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

STEPS = 20
DEAD = 0.02
"""Explained variance below which a critic is no better than a constant."""


def detect(window: Window) -> Symptom | None:
    """Look for a long row of steps with no explained variance; a critic starts cold."""
    points = signals.series(window.steps, "learner.explained_variance")[-STEPS:]
    spread = signals.values(window.steps, "learner.return_std")[-STEPS:]
    varied = not spread or max(spread) > 1e-6
    if len(points) < STEPS or not varied or max(point.value for point in points) >= DEAD:
        return None
    median = signals.median([point.value for point in points]) or 0.0
    return Symptom(
        "dead_critic",
        Party.CONFIGURATION,
        f"The critic explained less than {DEAD:.0%} of the returns' variance in each of the last "
        f"{STEPS} steps (median {median:.2f}); advantages are mostly noise.",
        tuple(f"steps.jsonl#{point.step}" for point in points[-3:]),
        "agent.critic_lr against critic_grad_norm and value_loss; the recipe's "
        "learner.critic_warmup_steps; gae_lambda nearer 1 leans less on the critic meanwhile.",
    )
