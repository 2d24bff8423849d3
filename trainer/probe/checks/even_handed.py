"""Whoever says the same in other words is served the same: the world knows no favourite player.

A candidate that recognises the oracle's sentences, and serves nobody else, is told from an honest
one by an oracle that is more polite.
"""

from __future__ import annotations

from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.players import PERFECT, polite
from trainer.probe.subject import SLACK, Subject, Version

NAME = "even_handed"
POLITE = "polite"


def check(subject: Subject, version: Version) -> Outcome:
    """Play the oracle in its own words and in politer ones."""
    oracle = subject.world.players["oracle"]
    lost: list[str] = []
    for task in subject.tasks:
        plain = subject.play(version, PERFECT, oracle, task).claimed
        other = subject.play(version, POLITE, polite(oracle), task).claimed
        if other < plain - SLACK:
            lost.append(task.id)
    share = len(lost) / max(len(subject.tasks), 1)
    if not lost:
        return found(share)
    return found(
        share,
        [
            finding(
                NAME,
                f"In {len(lost)} of {len(subject.tasks)} tasks of {subject.name}, as in {lost[0]}, "
                "the oracle succeeds in its own words and fails with the same words said politely.",
                "Let the world depend on what is asked, not on who asks how.",
                path=f"world.{subject.name}",
                value=round(share, 4),
                limit=0,
            )
        ],
    )
