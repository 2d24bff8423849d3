"""The world says nothing that only the user may tell.

Rules, tool texts and the opening are looked through for the words of facts that nobody has told
yet, and whoever asks nothing is told nothing: a world puts no words into the agent's mouth.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainer.episode import Episode, Speaker
from trainer.probe.outcome import NOTHING, Outcome, finding, found
from trainer.probe.players import IDLE, UNDESERVING
from trainer.probe.spoken import said_in
from trainer.probe.subject import Subject, Version
from trainer.task import Task

NAME = "observations"


def check(subject: Subject, version: Version) -> Outcome:
    """Look through everything that the world itself says to players that do not work for it."""
    if not subject.has_own_files(version):
        return NOTHING
    players = {IDLE: subject.world.players["idle"], **UNDESERVING}
    subject.rehearse(version, players, among=subject.few)
    leaks = [
        leak
        for task in subject.few
        for name, make in players.items()
        for leak in _leaks(
            task,
            subject.play(version, name, make, task, among=subject.few).episode,
            asks=name != IDLE or version.user_settings["volunteer_after"] is not None,
        )
    ]
    if not leaks:
        return found(0)
    return found(
        len(leaks),
        [
            finding(
                NAME,
                f"The world {subject.name} itself tells {len(leaks)} facts that nobody asked for, "
                f"as {leaks[0]}.",
                "Leave the facts of a task to its user.",
                path=f"world.{subject.name}.env",
                value=len(leaks),
                limit=0,
            )
        ],
    )


def _leaks(task: Task, episode: Episode, *, asks: bool) -> Iterator[str]:
    """Yield what was told that should not be; to whoever asks nothing, nothing is to be told."""
    told: set[str] = set()
    for index, turn in enumerate(episode.turns):
        if turn.speaker is Speaker.AGENT:
            continue
        if not asks:
            for fact in sorted(set(turn.revealed) - told):
                yield f"{fact} of {task.id} to a player that asked nothing"
        told |= set(turn.revealed)
        own = turn.speaker in (Speaker.SYSTEM, Speaker.TOOL) or index == 1
        for fact in sorted(said_in(task, turn.text) - told - said_in(task, task.opening)):
            if own:
                yield f"{fact} of {task.id} in its turn {index}"
