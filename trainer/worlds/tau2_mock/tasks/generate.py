"""Makes our own tau2_mock tasks and the lists they are about; the same content, the same files.

    python -m trainer.worlds.tau2_mock.tasks.generate

writes both shelves, `tasks/` and `evaluation/`, and the labelled dialogues of `gold/` under the
world's folder, or with `--out DIR` under another. A task is written only if `drafts.write` finds it
sound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.worlds.tau2.case import Component
from trainer.worlds.tau2.drafts import Draft, Step, Told
from trainer.worlds.tau2.office import Bases
from trainer.worlds.tau2.publishing import Shelf, chosen, publish
from trainer.worlds.tau2_mock.loader import LAYOUT
from trainer.worlds.tau2_mock.tasks.labelled import TRANSCRIPTS
from trainer.worlds.tau2_mock.tools import DOMAIN

CANARY = "EAU-EVALUATION-TAU2-MOCK-7f0d2b94-51c8-4a6e-b3f7-8e02c94d1a5b"
"""Stands in every evaluation record and nowhere else, so that a leak can be searched for."""

POLICY = """\
# Rules of the task list

1. A task has a title; a description is optional, and only what the user gives is written down.
2. A task is either `pending` or `completed`.
3. Tasks are created for users who are on the list, by their user id.
4. Nobody deletes tasks here. Whoever wants one deleted is handed over to a human agent.
5. Ask the user for what you do not know. Name what you are about to do and have it confirmed.
"""


@dataclass(frozen=True)
class Plan:
    """What one shelf is about."""

    prefix: str
    people: tuple[tuple[str, str], ...]
    """User ids with names."""
    chores: tuple[tuple[str, bool], ...]
    """Titles of the tasks that are there, and whether they are done."""
    wanted: tuple[str, ...]
    """Titles of tasks to be created."""
    details: tuple[tuple[str, str], ...]
    """Titles with descriptions, of tasks to be created."""


TRAIN = Plan(
    "list",
    (("user_1", "Orla"), ("user_2", "Benno"), ("user_3", "Tove"), ("user_4", "Imre")),
    (
        ("Water the ferns", False), ("Order printer paper", False), ("Book the attic room", True),
        ("Return the ladder", False), ("Label the spare keys", True), ("Fix the door hinge", False),
    ),
    (
        "Collect the parcels", "Renew the fire drill notice", "Sort the winter coats",
        "Oil the gate", "Count the tea mugs",
    ),
    (
        ("Plan the garden day", "Everybody brings one tool"),
        ("Write to the landlord", "About the leaking gutter"),
        ("Prepare the quiz evening", "Twenty questions on rivers"),
        ("Back up the photo archive", "Only the folders since spring"),
    ),
)  # fmt: skip
EVALUATION = Plan(
    "held-list",
    (("user_1", "Sunniva"), ("user_2", "Jarek"), ("user_3", "Mirela")),
    (("Defrost the freezer", False), ("Repaint the bench", True), ("Update the rota", False)),
    ("Invite the choir", "Replace the hallway bulb"),
    (("Tidy the boat shed", "Start with the ropes"),),
)  # fmt: skip


def make_drafts(plan: Plan) -> tuple[Draft, ...]:
    """Return the tasks of a plan, numbered by kind."""
    kinds = (_creations, _descriptions, _updates, _notices, _deletions)
    return tuple(draft for kind in kinds for draft in kind(plan))


def make_databases(plan: Plan) -> dict[str, Any]:
    """Return the content of both databases."""
    tasks, owned = {}, {user_id: [] for user_id, _ in plan.people}
    notices = {}
    for index, (title, done) in enumerate(plan.chores):
        task_id = f"task_{index + 1}"
        status = "completed" if done else "pending"
        tasks[task_id] = {
            "task_id": task_id,
            "title": title,
            "description": None,
            "status": status,
        }
        owned[plan.people[index % len(plan.people)][0]].append(task_id)
        if not done:
            notices[f"notice_{index + 1}"] = {
                "notification_id": f"notice_{index + 1}",
                "message": f"'{title}' is yours.",
                "status": "unread",
                "task_id": task_id,
            }
    users = {
        user_id: {"user_id": user_id, "name": name, "tasks": owned[user_id]}
        for user_id, name in plan.people
    }
    return {"db.json": {"tasks": tasks, "users": users}, "user_db.json": {"notifications": notices}}


def make_shelf(plan: Plan) -> Shelf:
    """Return the tasks of a plan and the lists they are about."""
    content = make_databases(plan)
    return Shelf(make_drafts(plan), content, Bases(content["db.json"], content["user_db.json"]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write both shelves and the labelled dialogues."""
    publish(
        chosen(LAYOUT, arguments, __doc__),
        {"train": make_shelf(TRAIN), "evaluation": make_shelf(EVALUATION)},
        domain=DOMAIN,
        policy=POLICY,
        canary=CANARY,
        labelled=lambda tasks: TRANSCRIPTS,
    )


def _creations(plan: Plan) -> Iterator[Draft]:
    for index, title in enumerate(plan.wanted):
        user_id, _ = plan.people[index % len(plan.people)]
        yield Draft(
            id=f"{plan.prefix}-create-{index + 1}",
            opening="Hello, please put a new task on the list.",
            goal=f"Have a task '{title}' created for {user_id}, without a description.",
            told=(_title(title), _owner(user_id)),
            steps=(Step("create_task", {"user_id": user_id, "title": title}),),
        )


def _descriptions(plan: Plan) -> Iterator[Draft]:
    for index, (title, description) in enumerate(plan.details):
        user_id, _ = plan.people[(index + 1) % len(plan.people)]
        arguments = {"user_id": user_id, "title": title, "description": description}
        yield Draft(
            id=f"{plan.prefix}-describe-{index + 1}",
            opening="Good day. A new task, please, and it needs a description.",
            goal=f"Have a task '{title}' created for {user_id}, described as '{description}'.",
            told=(
                _title(title),
                _owner(user_id),
                Told("description", f"Describe it so: {description}.", ("description", "detail")),
            ),
            steps=(Step("create_task", arguments),),
        )


def _updates(plan: Plan) -> Iterator[Draft]:
    for index, (title, done) in enumerate(plan.chores):
        task_id, status = f"task_{index + 1}", "pending" if done else "completed"
        why = "It was not done after all." if done else "It is done."
        yield Draft(
            id=f"{plan.prefix}-update-{index + 1}",
            opening="Hi, one entry of the list is not right any more.",
            goal=f"Have {task_id}, '{title}', set to {status}.",
            told=(
                Told("entry", f"I mean {task_id}, '{title}'.", ("which task", "entry id")),
                Told("status", f"{why} Set it to {status}.", ("new status", "state")),
            ),
            steps=(Step("update_task_status", {"task_id": task_id, "status": status}),),
        )


def _notices(plan: Plan) -> Iterator[Draft]:
    for index, (title, done) in enumerate(plan.chores):
        if done:
            continue
        task_id, notice = f"task_{index + 1}", f"notice_{index + 1}"
        dismissal = {"name": "dismiss_notification", "arguments": {"notification_id": notice}}
        status = {"notification_id": notice, "expected_status": "read"}
        yield Draft(
            id=f"{plan.prefix}-notice-{index + 1}",
            opening="Hello, I was sent something, and I have dealt with it.",
            goal=f"Have {task_id} set to completed; then dismiss {notice} when asked to.",
            told=(
                Told(
                    "inbox",
                    f"My inbox says that '{title}', {task_id}, is mine. I have completed it.",
                    ("inbox", "notification message"),
                    ({"name": "check_notifications", "arguments": {}},),
                ),
                Told("dismissal", "Dismissed, it is gone now.", ("dismiss it",), (dismissal,)),
            ),
            steps=(Step("update_task_status", {"task_id": task_id, "status": "completed"}),),
            user_steps=(Step("dismiss_notification", {"notification_id": notice}),),
            basis=(Component.DB, Component.ACTION, Component.ENV_ASSERTION),
            assertions=(
                {
                    "env_type": "user",
                    "func_name": "assert_notification_status",
                    "arguments": status,
                },
            ),
        )


def _deletions(plan: Plan) -> Iterator[Draft]:
    for index, (title, _) in enumerate(plan.chores[:2]):
        yield Draft(
            id=f"{plan.prefix}-delete-{index + 1}",
            opening="Hello, something has to go from the list.",
            goal=f"Have '{title}' deleted, which only a human agent may arrange.",
            told=(
                Told("entry", f"Delete '{title}', please.", ("which task", "entry id")),
                Told("insistence", "No, hiding it is not enough.", ("instead", "alternative")),
            ),
            steps=(Step("transfer_to_human_agents", {"summary": f"Deletion: {title}"}, ()),),
            basis=(Component.DB, Component.ACTION),
        )


def _title(title: str) -> Told:
    return Told("title", f"Call it '{title}'.", ("title", "name of the task"))


def _owner(user_id: str) -> Told:
    return Told("owner", f"It is for {user_id}.", ("whose", "user id", "owner"))


if __name__ == "__main__":
    main()
