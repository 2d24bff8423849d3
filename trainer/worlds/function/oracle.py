"""Scripted function agents: an expert, one that believes in straight lines, and one that idles.

No script can invent every rule, so the expert takes the value from the task after looking at the
rule as anyone would. `hasty` reads the conversation alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.task import Task
from trainer.worlds.function.formula import numbers_in
from trainer.worlds.player import Player, PlayerFactory

PROBES = ("0 0 0 0", "1 0 0 0", "0 1 0 0", "0 0 1 0", "0 0 0 1")
"""Calls that determine a linear rule."""


@dataclass(frozen=True)
class Expert:
    """An agent that looks at the test, tries the rule once and answers."""

    value: float

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next move; see `trainer.worlds.player.Player`."""
        num_moves = sum(turn.speaker is Speaker.AGENT for turn in turns)
        return (
            ("[search] test", "[action] 11 13 17 19")[num_moves]
            if num_moves < 2
            else (f"[answer] {self.value!r}")
        )


@dataclass(frozen=True)
class Liner:
    """An agent that takes every rule for a linear one; it fails on products and quotients."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next move."""
        heard = [turn.text for turn in turns if turn.speaker is Speaker.TOOL]
        if not heard:
            return "[search] test"
        if len(heard) <= len(PROBES):
            return f"[action] {PROBES[len(heard) - 1]}"
        test = numbers_in(heard[0])
        results = [numbers_in(text.rstrip(".")) for text in heard[1 : len(PROBES) + 1]]
        base, *values = [found[0] if len(found) == 1 else 0.0 for found in results]
        slopes = [value - base for value in values]
        guess = base + sum(x * slope for x, slope in zip(test, slopes, strict=True))
        return f"[answer] {guess!r}"


@dataclass(frozen=True)
class Idler:
    """An agent that does nothing useful."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return a greeting."""
        return "[action] Hello."


def oracle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the expert, which answers right with its third message."""
    return Expert(task.payload["expected_result"])


def idle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that never calls, tests or answers; its floor is 0 in every metric."""
    return Idler()


def hasty(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that believes every rule to be linear."""
    return Liner()


PLAYERS: Mapping[str, PlayerFactory] = {"oracle": oracle, "idle": idle, "hasty": hasty}
"""Scripted players by name."""
