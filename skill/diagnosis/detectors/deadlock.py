"""Deadlock: user and agent wait for each other until a limit ends the episode.

An agent that repeats itself is no deadlock; `skill.diagnosis.blame` tells the two apart. Worlds in
which nobody answers never show it.
"""

from __future__ import annotations

from skill.diagnosis import blame
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

LARGEST_SHARE = 0.20
"""Share of episodes that may stall; also the gate's tripwire."""
FEWEST_EPISODES = 10


def detect(window: Window) -> Symptom | None:
    """Look for dialogues whose user refuses every fair move in the same words.

    Source:
        The published question counter that missed turns which ask and answer: 41% of episodes.
    """
    stalled = [(one, blame.deadlocked_at(one)) for one in window.recent]
    found = [(one, turn) for one, turn in stalled if turn is not None]
    if len(window.recent) < FEWEST_EPISODES or len(found) <= LARGEST_SHARE * len(window.recent):
        return None
    episode, turn = found[-1]
    return Symptom(
        "deadlock",
        Party.USER,
        f"{len(found)} of {len(window.recent)} recent episodes ended at a limit while the user "
        f"refused the agent's last {blame.STALLED_REPLIES} fair moves in the same words.",
        tuple(one.cite(at) for one, at in found[-6:]),
        "Read two of these dialogues, then the user's rules: which condition is never met? "
        "Compare user.min_questions with what the counter counts (a turn that asks and answers).",
        quote=episode.text(turn),
    )
