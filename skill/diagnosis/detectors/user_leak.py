"""User leak: replies give away more than the user may tell.

The reference answers are not known here and must not be; what gives a leak away is the knobs in
force, the agent's own answer, or the length of the replies.
"""

from __future__ import annotations

from skill.diagnosis import signals
from skill.diagnosis.dialogue import Dialogue
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

FEWEST = 2
LARGEST_SHARE = 0.02
"""Share of episodes in which a reply may give too much away."""
SHORTEST_RECITED = 24
"""Characters of an answer from which finding it in a reply is no chance."""
LONG_REPLY, LONGER = 200, 3.0
"""Characters, and times the usual, from which the longest replies of a step are suspect."""


def detect(window: Window) -> Symptom | None:
    """Look for replies beyond the knobs, for answers recited by the user, and for long replies.

    Source:
        The published run in which facts_per_reply went from 1 to 3 and the reference answer
        stood in one reply of 837 characters.
    """
    leaks = [(one, turn) for one in window.recent if (turn := _leak_at(one, window)) is not None]
    if len(leaks) >= FEWEST and len(leaks) > LARGEST_SHARE * len(window.recent):
        episode, turn = leaks[-1]
        return Symptom(
            "user_leak",
            Party.USER,
            f"In {len(leaks)} of {len(window.recent)} recent episodes a reply gave away more than "
            "the knobs allow, or held the very answer that the agent then gave.",
            tuple(one.cite(at) for one, at in leaks[-6:]),
            "user.facts_per_reply, user.max_reveals and user.reveal_kinds, then the reply "
            "templates of the user's rules: which facts stand in this reply, and of which kind?",
            quote=episode.text(turn),
        )
    return _longer_replies(window)


def _leak_at(episode: Dialogue, window: Window) -> int | None:
    world = episode.world
    most_facts = window.knob("user.facts_per_reply", world) or 3
    most_chars = window.knob("user.max_reply_chars", world)
    answer = " ".join(episode.committed[-1:]).replace("[answer]", "").strip()
    for index in episode.spoken_by("user"):
        text = episode.text(index)
        beyond = len(set(episode.revealed(index))) > most_facts
        too_long = most_chars is not None and len(text) > most_chars
        recited = len(answer) >= SHORTEST_RECITED and answer in " ".join(text.lower().split())
        if beyond or too_long or (recited and episode.solved):
            return index
    return None


def _longer_replies(window: Window) -> Symptom | None:
    lengths = signals.series(window.history, "max_reply_chars")
    if len(lengths) < 12:
        return None
    usual = signals.median([point.value for point in lengths[:-5]]) or 0.0
    lately = signals.median([point.value for point in lengths[-5:]]) or 0.0
    if lately < LONG_REPLY or lately < LONGER * usual:
        return None
    return Symptom(
        "user_leak",
        Party.USER,
        f"The longest reply of a step went from {usual:.0f} to {lately:.0f} characters.",
        tuple(f"steps.jsonl#{point.step}" for point in lengths[-5:]),
        "Read the longest reply of the newest step: does it hold what the task asks for?",
    )
