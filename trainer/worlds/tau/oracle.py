"""Scripted agents at the desks: tau2's clerk, who calls tools by TauGym's moves.

Sixteen turns are few for the benchmark's longest tasks. The expert asks for every fact of our own
tasks, and of the gold actions carries out those that write, since reading earns nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trainer import seeds
from trainer.task import Task
from trainer.worlds.player import Player, PlayerFactory
from trainer.worlds.tau.desks import desk_of
from trainer.worlds.tau2 import players
from trainer.worlds.tau2.case import NamedCall, read_case
from trainer.worlds.tau2.players import AGREE, LEAVE, Clerk

LOOK = "[search] tools"


def writes(task: Task) -> Sequence[NamedCall]:
    """Return the gold actions that may change the database."""
    tools = desk_of(task).agent.tools
    return [call for call in players.gold_calls(task) if tools[call.name].mutates]


def answer(call: NamedCall) -> str:
    """Return a tool call as TauGym's agents write it."""
    return f"[answer] {json.dumps({'name': call.name, 'arguments': dict(call.arguments)})}"


def oracle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the expert, which reaches everything that can be reached."""
    # Of a real customer's prose only the built-in tasks' facts are worth asking for one by one.
    wanted = task.facts if task.provenance == "built-in" else ()
    return Clerk(wanted, _script(task, writes(task)), int(settings.get("max_steps", 16)))


def hasty(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return a player that now and then leaves out a question or a step, by its seed."""

    def some(entries: Sequence[Any], what: str) -> tuple[Any, ...]:
        drawn = (seeds.uniform(seed, "hasty", what, index) for index in range(len(entries)))
        kept = zip(entries, drawn, strict=True)
        return tuple(entry for entry, chance in kept if chance >= players.HASTY_SKIP)

    script = (LOOK, *_script(task, some(writes(task), "step")))
    return Clerk(some(task.facts, "question"), script, int(settings.get("max_steps", 16)))


def handing_over(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that hands everybody over at once.

    It earns 1 where the end is the state it begins in and nothing must be said: on no task of ours.
    """
    summary = {"summary": "The customer wants something."}
    return players.Repeater(answer(NamedCall(players.Side.AGENT, players.TRANSFER, summary)))


def _script(task: Task, calls: Sequence[NamedCall]) -> tuple[str, ...]:
    said = read_case(task.payload["record"]).communicate
    told = (f"[action] For your information: {'; '.join(said)}.",) if said else ()
    return (AGREE, *map(answer, calls), *told, LEAVE)


PLAYERS: Mapping[str, PlayerFactory] = {
    "oracle": oracle,
    "idle": players.idle,
    "closing": players.closing,
    "hasty": hasty,
    "handing_over": handing_over,
}
"""Scripted players by name."""
