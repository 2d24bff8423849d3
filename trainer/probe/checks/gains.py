"""No scripted player that does not solve its task earns more by the change.

Compared task by task with what is in force. Who asks honestly may share in a payment for progress,
as long as the perfect player gains as much; who is lazy, spams or does nothing may gain nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from trainer.probe.outcome import NOTHING, Outcome, finding, found
from trainer.probe.players import COPYCAT, IDLE, PERFECT, QUESTIONER, UNDESERVING
from trainer.probe.subject import SLACK, Subject, Version
from trainer.task import Task
from trainer.worlds.player import PlayerFactory

NAME = "gains"
HONEST = frozenset({QUESTIONER, COPYCAT})
"""Players that may bring about progress on the way, whatever they want."""


class _Gain(NamedTuple):
    amount: float
    player: str
    task: str
    before: float
    after: float
    perfect: float


def check(subject: Subject, version: Version) -> Outcome:
    """Play every such player on both sides.

    Source:
        EAU: first_tool, first_uid and first_oid were paid on failing calls.
    """
    old = subject.old
    if old is None or version is old:
        return NOTHING
    if subject.unchanged and old.scheme == version.scheme:
        return found(0.0)
    players = {IDLE: subject.world.players["idle"], **UNDESERVING}
    for side in (old, version):
        subject.rehearse(side, players, among=subject.few)
    gains = [
        gain
        for task in subject.few
        for name, make in players.items()
        if (gain := _gain(subject, old, task, name, make)) is not None
    ]
    if not gains:
        return found(0.0)
    worst = max(gains, key=lambda gain: gain.amount)
    return found(
        worst.amount,
        [
            finding(
                NAME,
                f"The {worst.player} player, which does not solve {worst.task} of {subject.name}, "
                f"earns {worst.after:.3g} and not {worst.before:.3g} any more; the perfect player "
                f"gains {worst.perfect:.3g} by the change.",
                "Pay for progress that only a player on its way to the goal makes, and once.",
                path="reward.shaping",
                value=round(worst.amount, 4),
                limit=max(0.0, round(worst.perfect, 4)) if worst.player in HONEST else 0.0,
            )
        ],
    )


def _gain(
    subject: Subject, old: Version, task: Task, name: str, make: PlayerFactory
) -> _Gain | None:
    """Return what a player gains without deserving it, None if nothing."""
    before = subject.play(old, name, make, task, among=subject.few)
    after = subject.play(subject.new, name, make, task, among=subject.few)
    paid, pays = before.episode.total_reward, after.episode.total_reward
    gain = pays - paid
    if gain <= SLACK:
        return None
    oracle = subject.world.players["oracle"]
    perfect = (
        subject.play(subject.new, PERFECT, oracle, task).episode.total_reward
        - subject.play(old, PERFECT, oracle, task).episode.total_reward
    )
    if name in HONEST:
        # A user that tells more makes the task easier for whoever asks; that is no payment.
        progressed = after.pinned > before.pinned + SLACK
        if progressed and not (name == COPYCAT and after.solved):
            return None
        if gain <= perfect + SLACK:
            return None
    elif after.solved and before.solved:
        return None
    return _Gain(gain, name, task.id, paid, pays, perfect)
