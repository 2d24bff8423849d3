"""Desks for tests: the task list's tools over a few records, played move by move."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from trainer.message import Action, Choice, read_action
from trainer.task import Fact, Task
from trainer.worlds.seam import StepResult
from trainer.worlds.tau2.desk import Desk
from trainer.worlds.tau2.office import Bases
from trainer.worlds.tau2_mock.tools import DOMAIN

BASES = Bases(
    agent={
        "tasks": {
            "task_1": {
                "task_id": "task_1",
                "title": "Sweep",
                "description": None,
                "status": "pending",
            }
        },
        "users": {"user_1": {"user_id": "user_1", "name": "Orla", "tasks": ["task_1"]}},
    },
    user={
        "notifications": {
            "n1": {
                "notification_id": "n1",
                "message": "Yours.",
                "status": "unread",
                "task_id": None,
            }
        }
    },
)
COMPLETE = {"name": "update_task_status", "arguments": {"task_id": "task_1", "status": "completed"}}
FACTS = (
    Fact("F1", "entry", "which entry it is", "I mean task_1.", ("which task",)),
    Fact("F2", "dismissal", "what happens to the notice", "Dismissed.", ("dismiss it",)),
)
DISMISSAL = {"name": "dismiss_notification", "arguments": {"notification_id": "n1"}}


def task(record: Mapping[str, Any] | None = None, **criteria: Any) -> Task:
    """Return a task of the list with some criteria; by default `COMPLETE` is its gold action."""
    criteria = {"actions": [COMPLETE]} | criteria
    whole = {"id": "t", "evaluation_criteria": criteria} | dict(record or {})
    return Task(
        id="t",
        world="tau2_mock",
        goal="Have it done.",
        opening="Hello.",
        facts=FACTS,
        payload={"record": whole, "user_calls": {"F2": [DISMISSAL]}},
    )


def desk(entry: Task, **settings: Any) -> Desk:
    """Return a started desk."""
    made = Desk(DOMAIN, entry, BASES, settings, policy="Be kind.", metric="pass")
    made.start()
    return made


def call(made: Desk, name: str, **arguments: Any) -> StepResult:
    """Make a tool call as an agent writes it."""
    text = json.dumps({"name": name, "arguments": arguments})
    return made.act(read_action(f"<tool_call>{text}</tool_call>"))


def say(made: Desk, words: str) -> StepResult:
    """Write to the user."""
    return made.act(Action(Choice.ACTION, words))
