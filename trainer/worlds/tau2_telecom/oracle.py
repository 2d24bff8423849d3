"""Scripted agents at the carrier's desk: an expert, and several that are worse in known ways.

The expert asks what the caller knows, looks the customer up, and goes through the gold actions:
its own by tool call, the user's by asking for each tool of the phone by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trainer import seeds
from trainer.task import Task
from trainer.worlds.player import Player, PlayerFactory
from trainer.worlds.tau2 import players
from trainer.worlds.tau2.case import NamedCall, Side, read_case
from trainer.worlds.tau2.office import TRANSFER
from trainer.worlds.tau2.players import AGREE, HAND_OVER, HASTY_SKIP, LEAVE, Clerk

TURN_LIMIT = 50


def oracle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the expert."""
    return _clerk(task, settings, lambda what, index: True)


def hasty(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return a player that now and then leaves out a question or a step, by its seed."""
    return _clerk(
        task, settings, lambda what, index: seeds.uniform(seed, "hasty", what, index) >= HASTY_SKIP
    )


def line(call: NamedCall) -> str:
    """Return how an agent brings a call about: its own by calling, the user's by asking."""
    if call.side is Side.AGENT:
        return players.call_text(call)
    arguments = ", ".join(f"{key}={json.dumps(value)}" for key, value in call.arguments.items())
    return f"[action] Please use `{call.name}({arguments})` on your phone now."


def _clerk(task: Task, settings: Mapping[str, Any], kept: Any) -> Clerk:
    case = read_case(task.payload["record"])
    calls = [action.call for action in case.actions]
    steps = [line(call) for index, call in enumerate(calls) if kept("step", index)]
    handed = any(call.name == TRANSFER for call in calls)
    script = (AGREE, *_lookup(case.setups), *steps, HAND_OVER if handed else LEAVE)
    wanted = tuple(fact for index, fact in enumerate(task.facts) if kept("question", index))
    return Clerk(wanted, script, int(settings.get("max_steps", TURN_LIMIT)))


def _lookup(setups: Sequence[NamedCall]) -> list[str]:
    """Return the call that finds the customer of the phone's line."""
    numbers = [call.arguments["phone_number"] for call in setups if call.name == "set_user_info"]
    return [
        players.call_text(NamedCall(Side.AGENT, "get_customer_by_phone", {"phone_number": number}))
        for number in numbers
    ]


PLAYERS: Mapping[str, PlayerFactory] = {
    "oracle": oracle,
    "idle": players.idle,
    "closing": players.closing,
    "hasty": hasty,
}
"""Scripted players by name."""
