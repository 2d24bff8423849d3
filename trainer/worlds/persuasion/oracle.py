"""Scripted persuaders: an expert, one with half the arguments, and one that idles.

No script can find what would move a person, so the expert takes the points from the task; whether
one was granted it reads from the holder's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.task import Task
from trainer.worlds.player import Player, PlayerFactory

LEAD_IN = "[action] Please think of this:"
SMALL_TALK = "[action] Hello."
INSULT = "[action] Only an idiot could believe that."


@dataclass(frozen=True)
class Arguer:
    """An agent that makes each of its points until it is granted, least made first."""

    points: tuple[tuple[str, str], ...]
    """The point, and the holder's sentence that grants it."""
    last_words: str = SMALL_TALK

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next argument; see `trainer.worlds.player.Player`."""
        heard = " ".join(turn.text for turn in turns[2:] if turn.speaker is Speaker.USER)
        said = [turn.text for turn in turns if turn.speaker is Speaker.AGENT]
        pending = [f"{LEAD_IN} {point}" for point, grant in self.points if grant not in heard]
        return min(pending, key=said.count) if pending else self.last_words


def oracle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the expert, which makes one point after another."""
    return Arguer(_points(task))


def idle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that makes no argument; its floor is 0 in every metric."""
    return Arguer(())


def hasty(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that has only the first half of the points and then loses patience."""
    points = _points(task)
    return Arguer(points[: (len(points) + 1) // 2], last_words=INSULT)


def _points(task: Task) -> tuple[tuple[str, str], ...]:
    return tuple((fact.text, fact.statement) for fact in task.facts)


PLAYERS: Mapping[str, PlayerFactory] = {"oracle": oracle, "idle": idle, "hasty": hasty}
"""Scripted players by name."""
