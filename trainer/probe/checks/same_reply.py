"""The same seed gives the same replies and the same episode, whichever process plays it.

Played once more by fresh processes, later and in another order, so a world or a user that looks
at the clock, at its process or at chance of its own is found out.
"""

from __future__ import annotations

from trainer.episode import Episode
from trainer.probe.outcome import NOTHING, Outcome, finding, found
from trainer.probe.players import PERFECT, QUESTIONER, questioner
from trainer.probe.subject import Subject, Version
from trainer.worlds.host import WorldHost
from trainer.worlds.limits import Limits

NAME = "same_reply"


def check(subject: Subject, version: Version) -> Outcome:
    """Play two players again, in fresh processes, the last task first."""
    if not subject.has_own_files(version):
        return NOTHING
    players = {PERFECT: subject.world.players["oracle"], QUESTIONER: questioner}
    first = {
        (name, task.id): subject.play(version, name, make, task, among=subject.few).episode
        for name, make in players.items()
        for task in subject.few
    }
    differing: list[str] = []
    order = tuple(reversed(subject.few))
    with WorldHost(
        {subject.name: version.folder}, limits=Limits(load_s=subject.budget.loading_s)
    ) as fresh:
        for name, make in players.items():
            again = subject.play_all(version, make, order, host=fresh)
            for task, played in zip(order, again, strict=True):
                if played.episode != first[name, task.id]:
                    one = _difference(first[name, task.id], played.episode)
                    differing.append(f"{name} in {task.id}, {one}")
    share = len(differing) / max(len(first), 1)
    if not differing:
        return found(share)
    return found(
        share,
        [
            finding(
                NAME,
                f"{len(differing)} of {len(first)} episodes of {subject.name} went another way "
                f"when they were played again under the same seed: {differing[0]}.",
                "Take all chance from the seed; read no clock, no process and no global state.",
                path=f"world.{subject.name}",
                value=round(share, 4),
                limit=0,
            )
        ],
    )


def _difference(one: Episode, other: Episode) -> str:
    for index, (left, right) in enumerate(zip(one.turns, other.turns, strict=False)):
        if left != right:
            return f"turn {index}"
    return "at the end"
