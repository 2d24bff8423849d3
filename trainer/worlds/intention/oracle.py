"""Scripted intention agents: an expert, and three that are worse in known ways.

No script can invent the right questions, so the expert takes them from the task; whether one was
answered it reads from the user's words. It proves that a question exists for every detail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer import seeds
from trainer.episode import Speaker, Turn
from trainer.task import Task
from trainer.worlds.player import Player, PlayerFactory

HASTY_SKIP = 0.5
"""Share of questions that the player `hasty` leaves out."""

SMALL_TALK = "[action] Hello."
VAGUE_QUESTION = "[action] Could you tell me more?"


@dataclass(frozen=True)
class Questioner:
    """An agent that asks each of its questions until it is answered, least asked first."""

    questions: tuple[tuple[str, str], ...]
    """The question, and the user's sentence that answers it."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next question; see `trainer.worlds.player.Player`."""
        heard = " ".join(turn.text for turn in turns[2:] if turn.speaker is Speaker.USER)
        asked = [turn.text for turn in turns if turn.speaker is Speaker.AGENT]
        pending = [f"[action] {ask}" for ask, answer in self.questions if answer not in heard]
        if not pending:
            return VAGUE_QUESTION
        return min(pending, key=asked.count)


@dataclass(frozen=True)
class Repeater:
    """An agent that says the same words whatever happens."""

    words: str

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the words."""
        return self.words


def oracle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the expert: one question for each detail, the important ones first."""
    return Questioner(_questions(task))


def idle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that asks nothing; its floor is 0 in every metric."""
    return Repeater(SMALL_TALK)


def lazy(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that leaves the work to the user."""
    return Repeater(VAGUE_QUESTION)


def hasty(skip: float) -> PlayerFactory:
    """Return a player that knows only some of the questions.

    Args:
        skip: Probability that a question is missing, drawn from the seed for each detail.
    """

    def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
        kept = tuple(
            question
            for index, question in enumerate(_questions(task))
            if seeds.uniform(seed, "hasty", index) >= skip
        )
        return Questioner(kept)

    return make


def _questions(task: Task) -> tuple[tuple[str, str], ...]:
    details = sorted(task.payload["missing_details"], key=lambda detail: -detail["importance"])
    statements = {fact.id: fact.statement for fact in task.facts}
    return tuple((detail["inquiry"], statements[detail["id"]]) for detail in details)


PLAYERS: Mapping[str, PlayerFactory] = {
    "oracle": oracle,
    "idle": idle,
    "lazy": lazy,
    "hasty": hasty(HASTY_SKIP),
}
"""Scripted players by name."""
