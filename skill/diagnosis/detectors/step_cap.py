"""Step-cap hits: a limit on turns or tokens ends too many episodes.

The limit itself is not judged: a tight limit and a policy that dawdles look the same from
outside, and only what the last turns gained tells one from the other.
"""

from __future__ import annotations

from skill.diagnosis import blame
from skill.diagnosis.dialogue import LIMITS
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

LARGEST_SHARE = 0.25
FEWEST_EPISODES = 20


def detect(window: Window) -> Symptom | None:
    """Look for many cut episodes, and tell a tight limit from a policy that dawdles."""
    cut = [one for one in window.recent if one.stop in LIMITS]
    if len(window.recent) < FEWEST_EPISODES or len(cut) < LARGEST_SHARE * len(window.recent):
        return None
    busy = [one for one in cut if blame.cut_in_progress(one)]
    tight = 2 * len(busy) >= len(cut)
    steps = sum(one.stop == "out_of_steps" for one in cut)
    limit = window.knob("environment.max_steps")
    return Symptom(
        "step_cap",
        Party.CONFIGURATION if tight else Party.POLICY,
        f"{len(cut)} of {len(window.recent)} recent episodes were cut ({steps} by the limit on "
        f"turns, {len(cut) - steps} by that on tokens; max_steps is {limit}); in {len(busy)} of "
        f"them the dialogue was still gaining something.",
        tuple(one.cite() for one in (busy if tight else cut)[-6:]),
        "The limits: environment.max_steps and the recipe's rollout.context_tokens."
        if tight
        else "Has the agent learnt to dawdle? Compare agent_turns over the run, and look at "
        "learner.bootstrap_truncated in run.yaml: bootstrapping past a limit pays for dawdling.",
    )
