"""No player is called successful by the candidate whom the checkout's verifier calls a failure.

Judged again from the recorded turns, so what the candidate says of itself counts for nothing.
"""

from __future__ import annotations

from trainer.probe.outcome import NOTHING, Outcome, finding, found
from trainer.probe.players import IDLE, UNDESERVING
from trainer.probe.subject import SLACK, Subject, Version

NAME = "recomputed"


def check(subject: Subject, version: Version) -> Outcome:
    """Compare both verdicts on every player that does not solve the task.

    Source:
        DoomArena#17: the judge counts a refund that did not happen.
    """
    if not subject.has_own_files(version):
        return NOTHING
    players = {IDLE: subject.world.players["idle"], **UNDESERVING}
    subject.rehearse(version, players, among=subject.few)
    excess, where, verdicts = 0.0, "", (0.0, 0.0)
    for task in subject.few:
        for name, make in players.items():
            played = subject.play(version, name, make, task, among=subject.few)
            claimed, pinned = played.claimed, played.pinned
            if claimed - pinned > excess + SLACK:
                excess, where, verdicts = (
                    claimed - pinned,
                    f"{name} in {task.id}",
                    (claimed, pinned),
                )
    if not where:
        return found(excess)
    return found(
        excess,
        [
            finding(
                NAME,
                f"The candidate gives the player {where} of {subject.name} a success of "
                f"{verdicts[0]:.3g}; the checkout's verifier finds {verdicts[1]:.3g} in its turns.",
                "Judge what was done; a verdict that was wrong is cited in `false_verdicts`.",
                path=f"world.{subject.name}.verifier",
                value=round(verdicts[0], 4),
                limit=round(verdicts[1], 4),
            )
        ],
    )
