"""Scripted players: agents without a model, which prove what a world can and cannot pay.

A world's `oracle.py` holds a literal dict `PLAYERS` from a name to a `PlayerFactory`. Two names are
required: `oracle`, an expert that reaches the maximum on every task, and `idle`, which does
nothing useful and shows the floor. Players are never copied into a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from trainer.episode import Turn
from trainer.task import Task


class Player(Protocol):
    """An agent for one episode."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the agent's next message, as text with its action prefix.

        Args:
            turns: The whole conversation so far, system turn first; the newest is last.
        """
        ...


class PlayerFactory(Protocol):
    """Makes a player for one task."""

    def __call__(self, task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
        """Return a fresh player; arguments as for `trainer.worlds.seam.EnvFactory`."""
        ...
