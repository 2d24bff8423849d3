"""Scripted agents for any desk: an expert, and several that are worse in known ways.

The expert asks for every fact until it has heard it, names what it is about to do and has it
agreed, carries out the gold actions, says what is to be said, and offers further help, at which
the user leaves. It proves that the user tells everything and that the end can be reached.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer import seeds
from trainer.episode import Speaker, Turn
from trainer.task import Fact, Task
from trainer.worlds.player import Player, PlayerFactory
from trainer.worlds.tau2.case import NamedCall, Side, read_case
from trainer.worlds.tau2.office import TRANSFER

HASTY_SKIP = 0.3
"""Probability with which the player `hasty` leaves out a question or a step."""
QUESTION = "[action] What about this: "
AGREE = "[action] I have everything now. Do you confirm (yes/no)?"
LEAVE = "[action] Is there anything else?"
HAND_OVER = "[action] YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD ON."

Steps = Callable[[Task], Sequence[NamedCall]]
"""The agent's calls that bring a task to its end."""


@dataclass(frozen=True)
class Clerk:
    """An agent that asks what it wants to know, then follows its script to the end."""

    wanted: tuple[Fact, ...]
    script: tuple[str, ...]
    max_steps: int

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next question or line; see `trainer.worlds.player.Player`."""
        heard = " ".join(turn.text for turn in turns if turn.speaker is Speaker.USER)
        said = [turn.text for turn in turns if turn.speaker is Speaker.AGENT]
        asked = [line for line in said if line.startswith(QUESTION)]
        pending = [_question(fact) for fact in self.wanted if fact.statement not in heard]
        started = len(said) > len(asked)
        if pending and not started and len(said) + len(self.script) < self.max_steps:
            return min(pending, key=asked.count)
        return self.script[min(len(said) - len(asked), len(self.script) - 1)]


@dataclass(frozen=True)
class Repeater:
    """An agent that says the same words whatever happens."""

    words: str

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the words."""
        return self.words


def gold_calls(task: Task) -> Sequence[NamedCall]:
    """Return the agent's calls among a task's gold actions."""
    actions = read_case(task.payload["record"]).actions
    return [action.call for action in actions if action.call.side is Side.AGENT]


def call_text(call: NamedCall) -> str:
    """Return a tool call as an agent writes it."""
    content = json.dumps({"name": call.name, "arguments": dict(call.arguments)})
    return f"<tool_call>{content}</tool_call>"


def expert(steps: Steps = gold_calls) -> PlayerFactory:
    """Return the player that reaches everything.

    Args:
        steps: What it does at the desk.
    """

    def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
        # Of a real user's prose only the built-in tasks' facts are worth asking for one by one.
        wanted = task.facts if task.provenance == "built-in" else ()
        return Clerk(wanted, _script(task, steps(task)), int(settings.get("max_steps", 50)))

    return make


def hasty(skip: float = HASTY_SKIP, steps: Steps = gold_calls) -> PlayerFactory:
    """Return a player that now and then leaves out a question or a step, by its seed."""

    def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
        wanted = _some(task.facts, seed, "question", skip)
        calls = _some(steps(task), seed, "step", skip)
        return Clerk(wanted, _script(task, calls), int(settings.get("max_steps", 50)))

    return make


def idle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that does nothing; nobody leaves, so it earns 0 on every task."""
    return Repeater("[action] Hello.")


def closing(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that does nothing and sees the user off at once.

    It earns 1 where a task's end is the state it begins in and nothing must be said: never on a
    built-in task, and on the real ones whose data ask for nothing.
    """
    return Repeater(LEAVE)


def _question(fact: Fact) -> str:
    return f"{QUESTION}{fact.cues[0]}?"


def _script(task: Task, calls: Sequence[NamedCall]) -> tuple[str, ...]:
    said = read_case(task.payload["record"]).communicate
    lines = [AGREE, *map(call_text, calls)]
    if said:
        lines.append(f"[action] For your information: {'; '.join(said)}.")
    handed = any(call.name == TRANSFER for call in calls)
    return (*lines, HAND_OVER if handed and not said else LEAVE)


def _some(entries: Iterable[Any], seed: int, what: str, skip: float) -> tuple[Any, ...]:
    return tuple(
        entry
        for index, entry in enumerate(entries)
        if seeds.uniform(seed, "hasty", what, index) >= skip
    )


def players(steps: Steps = gold_calls) -> dict[str, PlayerFactory]:
    """Return the scripted players of a world, by name."""
    return {
        "oracle": expert(steps),
        "idle": idle,
        "closing": closing,
        "hasty": hasty(steps=steps),
    }
