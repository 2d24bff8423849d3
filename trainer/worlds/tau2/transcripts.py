"""Transcripts: dialogues of our own tasks with the verdict that a person has put on them.

A transcript is written in a few moves, so that it can be read at a glance, and becomes a line of
a world's `gold/` with its task beside it. Nothing here calls a verifier.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from trainer.task import Task
from trainer.worlds.tau2.case import NamedCall, read_case
from trainer.worlds.tau2.players import call_text
from trainer.worlds.tau2.verdicts import ENDED


class Tell(NamedTuple):
    """The user discloses a fact."""

    fact_id: str


class Say(NamedTuple):
    """The agent writes to the user."""

    words: str


class Do(NamedTuple):
    """The agent carries out a gold action of the task, by its position."""

    position: int
    otherwise: Mapping[str, Any] = {}
    """Arguments that differ from the gold ones."""


class Write(NamedTuple):
    """The agent writes a text as it stands."""

    text: str


class Over(NamedTuple):
    """The user has gone."""


Move = Tell | Say | Do | Write | Over


@dataclass(frozen=True)
class Transcript:
    """One labelled dialogue."""

    name: str
    why: str
    """What the case shows, in a sentence."""
    task_id: str
    moves: tuple[Move, ...]
    success: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    """The numbers that the label fixes."""


def write(
    folder: Path,
    transcripts: Sequence[Transcript],
    tasks: Sequence[Task],
    *,
    call_text: Callable[[NamedCall], str] = call_text,
) -> None:
    """Write a world's gold verdicts, each with its task.

    Args:
        folder: The world's `gold`.
        transcripts: The dialogues.
        tasks: All tasks that they are about.
        call_text: How the agent writes a tool call.

    Raises:
        KeyError: if there is no task of a transcript's id.
    """
    by_id = {task.id: task for task in tasks}
    lines = [
        json.dumps(
            {
                "name": one.name,
                "why": one.why,
                "task": by_id[one.task_id].to_json(),
                "turns": list(_turns(by_id[one.task_id], one.moves, call_text)),
                "success": one.success,
                "metrics": dict(one.metrics),
            }
        )
        for one in transcripts
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "verdicts.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _turns(
    task: Task, moves: Sequence[Move], call_text: Callable[[NamedCall], str]
) -> Iterator[dict[str, Any]]:
    actions = read_case(task.payload["record"]).actions
    statements = {fact.id: fact.statement for fact in task.facts}
    for move in moves:
        match move:
            case Tell(fact_id):
                yield {"speaker": "user", "text": statements[fact_id], "revealed": [fact_id]}
            case Say(words):
                yield {"speaker": "agent", "text": f"[action] {words}"}
            case Do(position, otherwise):
                call = actions[position].call
                changed = NamedCall(call.side, call.name, {**call.arguments, **otherwise})
                yield {"speaker": "agent", "text": call_text(changed)}
            case Write(text):
                yield {"speaker": "agent", "text": text}
            case Over():
                yield {"speaker": "tool", "text": ENDED}
