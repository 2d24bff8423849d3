"""Scripted colbench agents: an expert, and three that are worse in known ways.

The expert asks about each hidden fact until it has heard it, then answers with the reference. It
proves that the user tells everything within the turn limit and that the reference passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer import seeds
from trainer.episode import Speaker, Turn
from trainer.task import Fact, Task
from trainer.worlds.colbench.tasks import small
from trainer.worlds.player import Player, PlayerFactory

HASTY_SKIP = 0.5
"""Share of the facts about which the player `hasty` does not ask."""

SMALL_TALK = "[action] Hello."
VAGUE_QUESTION = "[action] Could you tell me more?"
_MARKER = "I WANT TO ANSWER:"


@dataclass(frozen=True)
class Asker:
    """An agent that asks until it has heard what it wants to know, and then answers."""

    wanted: tuple[Fact, ...]
    answer: str
    max_steps: int
    compact: bool
    """Whether it spares words, as a small model must."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next question or the answer; see `trainer.worlds.player.Player`."""
        heard = " ".join(turn.text for turn in turns[2:] if turn.speaker is Speaker.USER)
        asked = [turn.text for turn in turns if turn.speaker is Speaker.AGENT]
        pending = [self._question(fact) for fact in self.wanted if fact.statement not in heard]
        if pending and len(asked) < self.max_steps - 1:
            return min(pending, key=asked.count)
        if self.compact:
            return f"[answer] {self.answer}"
        return f"{_MARKER}\n```python\n{self.answer}\n```"

    def _question(self, fact: Fact) -> str:
        return f"[action] {fact.cues[0]}?" if self.compact else question(fact)


@dataclass(frozen=True)
class Repeater:
    """An agent that says the same words whatever happens."""

    words: str

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the words."""
        return self.words


def question(fact: Fact) -> str:
    """Return what an expert asks to hear a fact."""
    return f"[action] What about this: {fact.cues[0]}?"


def oracle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the expert."""
    return _asker(task.facts, task.payload["reference"], settings)


def idle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that asks nothing and writes no code; its floor is 0 in every metric."""
    return Repeater(SMALL_TALK)


def lazy(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that leaves the work to the user."""
    return Repeater(VAGUE_QUESTION)


def hasty(skip: float) -> PlayerFactory:
    """Return a player that asks too little and answers with a function that knows some cases.

    Args:
        skip: Probability that a fact is not asked for, drawn from the seed for each fact; the
            answer is right on a call with the probability that a fact is asked for. In the small
            tier it takes the usual numbers for those that it did not ask for.
    """

    def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
        wanted = tuple(
            fact
            for index, fact in enumerate(task.facts)
            if seeds.uniform(seed, "hasty", index) >= skip
        )
        if small.holds(task):
            answer = small.assumed(task, [fact.id for fact in wanted])
        else:
            answer = _patchy(task, seed, skip)
        return _asker(wanted, answer, settings)

    return make


def _asker(wanted: tuple[Fact, ...], answer: str, settings: Mapping[str, Any]) -> Asker:
    compact = settings.get("prompt_style") == "compact"
    return Asker(wanted, answer, int(settings.get("max_steps", 10)), compact)


def _patchy(task: Task, seed: int, skip: float) -> str:
    """Return the reference behind a guard that gives up on some argument lists."""
    reference = task.payload["reference"]
    name = reference.partition("def ")[2].partition("(")[0]
    lost = tuple(
        f"{call!r}"
        for index, call in enumerate(task.payload["calls"])
        if seeds.uniform(seed, "patchy", index) < skip
    )
    # Only under `fresh` scoring does the second definition see the first.
    return (
        f"{reference}\n_known = {name}\n\n"
        f"def {name}(*arguments):\n"
        f"    if _call(arguments) in ({', '.join(lost)}{',' if lost else ''}):\n"
        f"        return 'not asked'\n"
        f"    return _known(*arguments)\n\n"
        f"def _call(arguments):\n"
        f"    return '{name}(' + ', '.join(map(repr, arguments)) + ')'\n"
    )


PLAYERS: Mapping[str, PlayerFactory] = {
    "oracle": oracle,
    "idle": idle,
    "lazy": lazy,
    "hasty": hasty(HASTY_SKIP),
}
"""Scripted players by name."""
