"""Scripted turtle agents: an expert, one that knows half the story, and one that idles.

No script can guess a story, so the expert takes it from the task.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.task import Task
from trainer.worlds.player import Player, PlayerFactory

FIRST_QUESTION = "[action] Did somebody die?"


@dataclass(frozen=True)
class Teller:
    """An agent that asks once and then tells what it knows, one thing more each time."""

    known: tuple[str, ...]
    at_once: int
    """How many things its first answer tells."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next move; see `trainer.worlds.player.Player`."""
        num_moves = sum(turn.speaker is Speaker.AGENT for turn in turns)
        if num_moves == 0:
            return FIRST_QUESTION
        return f"[answer] {' '.join(self.known[: self.at_once + num_moves - 1])}"


@dataclass(frozen=True)
class Idler:
    """An agent that does nothing useful."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return a greeting."""
        return "[action] Hello."


def oracle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the expert, which tells the whole story with its second message."""
    known = _statements(task)
    return Teller(known, at_once=len(known))


def idle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that neither asks nor answers; its floor is 0 in every metric."""
    return Idler()


def hasty(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that knows some of the criteria, drawn from the seed, at least one."""
    known = _statements(task)
    rng = random.Random(seed)
    return Teller(tuple(rng.sample(known, rng.randint(1, len(known)))), at_once=1)


def _statements(task: Task) -> tuple[str, ...]:
    return tuple(criterion["statement"] for criterion in task.payload["criteria"])


PLAYERS: Mapping[str, PlayerFactory] = {"oracle": oracle, "idle": idle, "hasty": hasty}
"""Scripted players by name."""
