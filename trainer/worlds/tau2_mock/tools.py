"""The tools of the task list, the agent's and the user's, and what task data may ask of them.

Agent's database: `tasks` and `users`. User's database: `notifications`.
"""

from __future__ import annotations

from typing import Any, Literal

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.office import Domain
from trainer.worlds.tau2.toolkit import ToolError, generic, read, toolkit, write


@write
def create_task(
    db: Database, user_id: str, title: str, description: str | None = None
) -> dict[str, Any]:
    """Create a task for a user; it is pending at first."""
    if db.get("users", user_id) is None:
        raise ToolError(f"User {user_id} not found")
    task_id = f"task_{len(db.root['tasks']) + 1}"
    task = {"task_id": task_id, "title": title, "description": description, "status": "pending"}
    db.put(task, "tasks", task_id)
    db.edit("users", user_id, "tasks").append(task_id)
    return task


@read
def get_users(db: Database) -> list[dict[str, Any]]:
    """List all users with the ids of their tasks."""
    return list(db.root["users"].values())


@write
def update_task_status(
    db: Database, task_id: str, status: Literal["pending", "completed"]
) -> dict[str, Any]:
    """Set the status of a task."""
    if db.get("tasks", task_id) is None:
        raise ToolError(f"Task {task_id} not found")
    db.edit("tasks", task_id)["status"] = status
    return db.get("tasks", task_id)


@generic
def transfer_to_human_agents(db: Database, summary: str) -> str:
    """Hand the user over to a human agent, with a summary of the matter."""
    return "Transfer successful"


def assert_task_status(db: Database, task_id: str, expected_status: str) -> bool:
    """Return whether a task has a status."""
    return (db.get("tasks", task_id) or {}).get("status") == expected_status


def assert_number_of_tasks(db: Database, user_id: str, expected_number: int) -> bool:
    """Return whether a user has so many tasks."""
    return len((db.get("users", user_id) or {}).get("tasks", ())) == expected_number


@read
def check_notifications(db: Database) -> list[dict[str, Any]]:
    """Look at all notifications in the inbox."""
    return list(db.root["notifications"].values())


@write
def dismiss_notification(db: Database, notification_id: str) -> str:
    """Mark a notification as read."""
    if db.get("notifications", notification_id) is None:
        raise ToolError(f"Notification {notification_id} not found")
    db.edit("notifications", notification_id)["status"] = "read"
    return f"Notification {notification_id} dismissed"


def add_notification(
    db: Database, notification_id: str, message: str, task_id: str | None = None
) -> None:
    """Put an unread notification into the inbox."""
    entry = {
        "notification_id": notification_id,
        "message": message,
        "status": "unread",
        "task_id": task_id,
    }
    db.put(entry, "notifications", notification_id)


def assert_notification_status(db: Database, notification_id: str, expected_status: str) -> bool:
    """Return whether a notification has a status."""
    return (db.get("notifications", notification_id) or {}).get("status") == expected_status


DOMAIN = Domain(
    name="mock",
    agent=toolkit(
        create_task,
        get_users,
        update_task_status,
        transfer_to_human_agents,
        checks=(assert_task_status, assert_number_of_tasks),
    ),
    user=toolkit(
        check_notifications,
        dismiss_notification,
        setups=(add_notification,),
        checks=(assert_notification_status,),
    ),
)
"""The task list's tools, for both sides."""
