"""Silent tool failure: a tool answers nothing, and nothing says that it failed.

An error message is an answer, however unhelpful. Which of a tool's arguments is at fault is left
to the reader of the quoted call.
"""

from __future__ import annotations

from collections import Counter

from skill.diagnosis.dialogue import Dialogue
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

FEWEST = 3
LARGEST_SHARE = 0.02
"""Share of tool answers that may be empty."""


def detect(window: Window) -> Symptom | None:
    """Look for empty tool answers and for the call that gets them."""
    answers = empty = 0
    calls: Counter[str] = Counter()
    evidence: list[str] = []
    for episode in window.recent:
        for index in episode.spoken_by("tool"):
            answers += 1
            if not episode.text(index).strip():
                empty += 1
                calls[_call_before(episode, index)] += 1
                evidence.append(episode.cite(index))
    if empty < FEWEST or empty <= LARGEST_SHARE * answers:
        return None
    call, times = calls.most_common(1)[0]
    return Symptom(
        "silent_tool",
        Party.ENVIRONMENT,
        f"{empty} of {answers} recent tool answers were empty, {times} of them to one and the "
        "same call.",
        tuple(evidence[-6:]),
        "The tool in the world's env.py: which argument makes it return nothing? It must answer "
        "with an error that the agent can read.",
        quote=call,
    )


def _call_before(episode: Dialogue, index: int) -> str:
    earlier = [place for place in episode.spoken_by("agent") if place < index]
    return episode.text(earlier[-1]) if earlier else ""
