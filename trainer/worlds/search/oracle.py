"""Scripted searchers: an expert, one that believes the first page, and one that idles.

The expert searches for one page after another, as a reader would, and takes the answer from the
task, since no script reads. `hasty` reads the conversation alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.task import Task
from trainer.worlds.player import Player, PlayerFactory

_NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_MAX_GUESSES = 3


@dataclass(frozen=True)
class Expert:
    """An agent that searches for every page on the way and answers."""

    hops: tuple[str, ...]
    answer: str

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next move; see `trainer.worlds.player.Player`."""
        num_moves = sum(turn.speaker is Speaker.AGENT for turn in turns)
        if num_moves < len(self.hops):
            return f"[search] {self.hops[num_moves]}"
        return f"[answer] {self.answer}"


@dataclass(frozen=True)
class FirstPage:
    """An agent that searches for the question and guesses names of the first page."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next move."""
        question = turns[1].text
        heard = [turn.text for turn in turns if turn.speaker is Speaker.TOOL]
        if not heard:
            return f"[search] {question}"
        page = heard[0].split("\n")[0].partition(":")[2]
        names = [name for name in _NAME.findall(page) if name not in question]
        guess = len(heard) - 1
        return f"[answer] {names[guess]}" if guess < min(len(names), _MAX_GUESSES) else "[finish]"


@dataclass(frozen=True)
class Idler:
    """An agent that does nothing useful."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return a greeting."""
        return "[action] Hello."


def oracle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the expert, which answers right after its last search."""
    return Expert(tuple(task.payload["hops"]), task.payload["answers"][0])


def idle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that neither searches nor answers; its floor is 0 in every metric."""
    return Idler()


def hasty(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that believes the first page."""
    return FirstPage()


PLAYERS: Mapping[str, PlayerFactory] = {"oracle": oracle, "idle": idle, "hasty": hasty}
"""Scripted players by name."""
