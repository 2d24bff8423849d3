"""Scripted telepathy agents: an expert, one that narrows our own list down, and one that idles.

The expert takes the name from the task, since no script knows everything there is. `hasty` reads
the conversation alone, but it knows only the things of our training tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.task import Task
from trainer.worlds.player import Player, PlayerFactory
from trainer.worlds.telepathy import loader
from trainer.worlds.telepathy.content import ATTRIBUTES

HASTY_QUESTIONS = 4
"""Attributes after which the player `hasty` begins to guess."""


@dataclass(frozen=True)
class Expert:
    """An agent that asks once and then names the thing."""

    name: str

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next move; see `trainer.worlds.player.Player`."""
        asked = any(turn.speaker is Speaker.AGENT for turn in turns)
        return f"[answer] {self.name}" if asked else f"[action] {ATTRIBUTES[0].question}"


@dataclass(frozen=True)
class Narrower:
    """An agent that asks for the first attributes and guesses among what is left."""

    num_questions: int
    order: int
    """Where in the list of things its guesses begin."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next question or guess."""
        said = [turn.text for turn in turns if turn.speaker is Speaker.AGENT]
        heard = {turn.text for turn in turns[2:] if turn.speaker is Speaker.USER}
        if len(said) < self.num_questions:
            return f"[action] {ATTRIBUTES[(len(said) * 5 + 1) % len(ATTRIBUTES)].question}"
        things = _things()
        start = self.order % len(things)
        fitting = [
            name
            for name, answers in things[start:] + things[:start]
            if all(answer in answers for answer in heard)
        ]
        guesses = [f"[answer] {name}" for name in fitting]
        return next((guess for guess in guesses if guess not in said), "[action] Hello.")


@dataclass(frozen=True)
class Idler:
    """An agent that does nothing useful."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return a greeting."""
        return "[action] Hello."


@lru_cache(maxsize=1)
def _things() -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the things of our training tasks with every sentence that is true of them."""
    return tuple(
        (task.payload["names"][0], frozenset(fact.statement for fact in task.facts))
        for task in loader.load("train")
    )


def oracle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the expert, which is right with its second message."""
    return Expert(task.payload["names"][0])


def idle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that neither asks nor guesses; its floor is 0 in every metric."""
    return Idler()


def hasty(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that guesses after a few questions."""
    return Narrower(HASTY_QUESTIONS, order=seed)


PLAYERS: Mapping[str, PlayerFactory] = {"oracle": oracle, "idle": idle, "hasty": hasty}
"""Scripted players by name."""
