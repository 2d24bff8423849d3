"""Scripted players that know no world: each tries one way to be paid without solving the task.

The perfect player and the one that does nothing belong to each world (`trainer.worlds.player`).
Deterministic: a player's words follow from its task, its seed and the turns so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.message import Action, Choice, read_action
from trainer.probe.questions import cue_questions
from trainer.task import Task
from trainer.worlds.player import Player, PlayerFactory

PERFECT, IDLE = "perfect", "idle"
LAZY, SPAMMY, QUESTIONER, COPYCAT = "lazy", "spammy", "questioner", "copycat"

_JUNK = (
    "[search] zzz",
    "[answer] zzz",
    '<tool_call>{"name": "zzz", "arguments": {}}</tool_call>',
    "[search] zzz",
    "[jump] zzz",
    "[answer] 0",
)


@dataclass(frozen=True)
class Reciter:
    """Says its lines in order, over and over."""

    lines: tuple[str, ...]

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next line."""
        said = sum(turn.speaker is Speaker.AGENT for turn in turns)
        return self.lines[said % len(self.lines)]


@dataclass(frozen=True)
class Parrot:
    """Gives the user's newest words back, by turns as an answer and as words."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the newest words of the user."""
        said = sum(turn.speaker is Speaker.AGENT for turn in turns)
        heard = next(turn.text for turn in reversed(turns) if turn.speaker is Speaker.USER)
        return f"[{'answer' if said % 2 else 'action'}] {' '.join(heard.split())}"


@dataclass(frozen=True)
class Reworded:
    """Another player, whose questions to the user are changed in form only."""

    inner: Player
    reword: Callable[[Action, str], str]
    _meant: dict[str, str] = field(default_factory=dict)
    """What the inner player said, by what was said for it: it knows its own words only."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the inner player's move in other words."""
        text = self.inner.move(
            [
                replace(turn, text=self._meant.get(turn.text, turn.text))
                if turn.speaker is Speaker.AGENT
                else turn
                for turn in turns
            ]
        )
        said = self.reword(read_action(text), text)
        self._meant[said] = text
        return said


def lazy(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that answers at once, asks nothing, and leaves."""
    last_words = " ".join(task.opening.split()[-3:]) or "yes"
    return Reciter((f"[answer] {last_words}", "[finish]"))


def spammy(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that makes one failing call after the other."""
    return Reciter(_JUNK)


def questioner(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that asks for every fact, over and over, and never answers."""
    asked = tuple(f"[action] {question}" for question in cue_questions(task))
    return Reciter(asked or ("[action] What can you tell me?",))


def copycat(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that only gives the user's words back."""
    return Parrot()


def polite(inner: PlayerFactory) -> PlayerFactory:
    """Return a player that asks the same as another one, more politely and with wider spaces."""

    def reword(action: Action, text: str) -> str:
        if _asks(action):
            return f"[action]  {action.content} Thank you."
        return text

    return _reworded(inner, reword)


def asserting(inner: PlayerFactory) -> PlayerFactory:
    """Return a player that offers a solution in every turn in which another one asks."""

    def reword(action: Action, text: str) -> str:
        if _asks(action):
            return f"[action] I found something that may do. {action.content}"
        return text

    return _reworded(inner, reword)


def _asks(action: Action) -> bool:
    """True for a question to the user; other words may be what a verifier looks for."""
    return action.choice is Choice.ACTION and "?" in action.content and "```" not in action.content


def _reworded(inner: PlayerFactory, reword: Callable[[Action, str], str]) -> PlayerFactory:
    def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
        return Reworded(inner(task, settings=settings, seed=seed), reword)

    return make


UNDESERVING: Mapping[str, PlayerFactory] = {
    LAZY: lazy,
    SPAMMY: spammy,
    QUESTIONER: questioner,
    COPYCAT: copycat,
}
"""The players that a change must not pay, by name."""
