"""Whoever does nothing earns nothing: the idle player has success 0 and no reward above 0."""

from __future__ import annotations

from trainer.probe.outcome import Outcome, finding, found
from trainer.probe.players import IDLE
from trainer.probe.subject import SLACK, Subject, Version

NAME = "floor"


def check(subject: Subject, version: Version) -> Outcome:
    """Play the idle player on every task.

    Source:
        tau2-bench#384: 23 tasks pass when the agent does nothing.
    """
    highest, where, success = 0.0, "", 0.0
    for task in subject.tasks:
        episode = subject.play(version, IDLE, subject.world.players["idle"], task).episode
        earned = max(episode.total_reward, episode.success or 0.0)
        if earned > highest + SLACK:
            highest, where, success = earned, task.id, episode.success or 0.0
    if not where:
        return found(highest)
    return found(
        highest,
        [
            finding(
                NAME,
                f"A player that does nothing earns {highest:.3g} in {where} of {subject.name} "
                f"(success {success:.3g}); its floor is 0.",
                "Pay and judge only what the agent brought about.",
                path=f"world.{subject.name}",
                value=round(highest, 4),
                limit=0,
            )
        ],
    )
