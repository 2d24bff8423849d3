"""Vacuous pass: success without having done anything for it.

A short solution is no vacuous one: what was asked for, looked up or disclosed counts as work.
"""

from __future__ import annotations

from collections import defaultdict

from skill.diagnosis.dialogue import Dialogue
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

FEWEST = 3
LARGEST_SHARE = 0.05
"""Share of successes that may be vacuous."""


def detect(window: Window) -> Symptom | None:
    """Look for successes without a token of the agent, or by one answer to many tasks unseen."""
    solved = [one for one in window.recent if one.solved]
    tasks: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for episode in solved:
        tasks[episode.answers].add(episode.task)
    vacuous = [
        one for one in solved if _silent(one) or (_blind(one) and len(tasks[one.answers]) > 2)
    ]
    if len(vacuous) < FEWEST or len(vacuous) <= LARGEST_SHARE * len(solved):
        return None
    return Symptom(
        "vacuous_pass",
        Party.VERIFIER,
        f"{len(vacuous)} of {len(solved)} recent successes came without a word of the agent, or by "
        "one and the same answer to several tasks without asking or looking anything up.",
        tuple(one.cite() for one in vacuous[-6:]),
        "The world's verifier.py: what does it take for granted when nothing was done? The "
        "do-nothing player must keep its floor score.",
    )


def _silent(episode: Dialogue) -> bool:
    return not episode.spoken_by("agent") or episode.action_tokens == 0


def _blind(episode: Dialogue) -> bool:
    told = any(episode.revealed(index) for index in episode.spoken_by("user"))
    return not told and not episode.spoken_by("tool")
