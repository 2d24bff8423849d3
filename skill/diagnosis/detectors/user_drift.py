"""User drift and early stop: the user leaves its role, or leaves.

What a user should have said is not known here: drift is what the user's own record calls out of
role, and an early stop is one that leaves the agent in the middle of something.
"""

from __future__ import annotations

from skill.diagnosis import blame
from skill.diagnosis.dialogue import Dialogue
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

FEWEST_EPISODES = 20
LARGEST_EARLY_SHARE = 0.10
"""Share of episodes that the user may leave while the agent is at work."""
LARGEST_DRIFT_SHARE = 0.10
"""Share of replies that may be out of role."""


def detect(window: Window) -> Symptom | None:
    """Look for users that end open dialogues, and for replies that are out of role."""
    if len(window.recent) < FEWEST_EPISODES:
        return None
    early = [
        (one, at)
        for one in window.recent
        if one.failed and (at := blame.left_early_at(one)) is not None
    ]
    replies = [(one, index) for one in window.recent for index in one.spoken_by("user")]
    drifted = [(one, index) for one, index in replies if _out_of_role(one, index)]
    early_share = len(early) / len(window.recent)
    drift_share = len(drifted) / len(replies) if replies else 0.0
    if early_share <= LARGEST_EARLY_SHARE and drift_share <= LARGEST_DRIFT_SHARE:
        return None
    shown = early if early_share > LARGEST_EARLY_SHARE else drifted
    episode, turn = shown[-1]
    return Symptom(
        "user_drift",
        Party.USER,
        f"The user left {early_share:.0%} of the recent episodes while the agent was still at "
        f"work, and {drift_share:.0%} of its replies were out of role.",
        tuple(one.cite(at) for one, at in shown[-6:]),
        "Success by arm in steps.jsonl: is it the symbolic user, or the other one? For a model, "
        "read its persona and instructions; for the noisy user, the recipe's rates.",
        quote=episode.text(turn),
    )


def _out_of_role(episode: Dialogue, index: int) -> bool:
    private = episode.private(index)
    faults = private.get("faults")
    return private.get("strategy") == "invalid" or (isinstance(faults, list) and "drift" in faults)
