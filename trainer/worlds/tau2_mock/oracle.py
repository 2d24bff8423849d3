"""Scripted agents at the desk of the task list; see `trainer.worlds.tau2.players`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainer.task import Task
from trainer.worlds.player import PlayerFactory
from trainer.worlds.tau2 import players
from trainer.worlds.tau2.case import NamedCall, Side, read_case


def steps(task: Task) -> Sequence[NamedCall]:
    """Return the gold calls, or what makes the assertions true where there are none."""
    case = read_case(task.payload["record"])
    if case.actions:
        return players.gold_calls(task)
    return [
        NamedCall(
            Side.AGENT,
            "update_task_status",
            {
                "task_id": assertion.call.arguments["task_id"],
                "status": assertion.call.arguments["expected_status"],
            },
        )
        for assertion in case.assertions
        if assertion.call.name == "assert_task_status"
    ]


PLAYERS: Mapping[str, PlayerFactory] = players.players(steps)
"""Scripted players by name."""
