"""Tasks: what a user wants, the facts they hold back, and what the verifier needs.

A task is a value that travels as JSON between the trainer and a world's process. This module
knows nothing about where tasks come from (`trainer.worlds`) or who plays them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Fact:
    """One piece of hidden information, with the kind of question that may unlock it."""

    id: str
    """Unique within its task, such as `P2`."""
    kind: str
    """What the fact is about, such as `hotel.room`; disclosure rules select by it."""
    text: str
    """The fact in plain words. It is the secret: no reply may quote it unless a rule says so."""
    statement: str
    """How the user voices the fact when it is revealed, usually without naming it."""
    cues: tuple[str, ...] = ()
    """Words and phrases of a question that asks for this fact."""
    weight: float = 1.0
    """How much the fact matters to the user, in the world's own scale."""


@dataclass(frozen=True)
class Task:
    """One thing to do for one user: everything an episode needs except chance and knobs."""

    id: str
    world: str
    goal: str
    """What the user is after, in words that only the user's side may read."""
    opening: str
    """The first message of the user."""
    facts: tuple[Fact, ...] = ()
    payload: Mapping[str, Any] = field(default_factory=dict)
    """What the environment and the verifier need, as JSON; the world declares its shape."""
    provenance: str = "built-in"
    """Where the task came from: `built-in`, or the data set and the path it was read from."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the source record that no loader knows; kept, and reported once."""

    def to_json(self) -> dict[str, Any]:
        """Return the task as plain JSON values; `from_json` is its inverse."""
        return {
            "id": self.id,
            "world": self.world,
            "goal": self.goal,
            "opening": self.opening,
            "facts": [
                {
                    "id": fact.id,
                    "kind": fact.kind,
                    "text": fact.text,
                    "statement": fact.statement,
                    "cues": list(fact.cues),
                    "weight": fact.weight,
                }
                for fact in self.facts
            ],
            "payload": dict(self.payload),
            "provenance": self.provenance,
            "extra": dict(self.extra),
        }

    @property
    def digest(self) -> str:
        """The sha256 of the task's canonical JSON, without its provenance."""
        content = {key: value for key, value in self.to_json().items() if key != "provenance"}
        canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()


def from_json(record: Mapping[str, Any]) -> Task:
    """Build a task from what `Task.to_json` returned.

    Raises:
        ValueError: if a required field is missing, naming the task and the field.
    """
    for name in ("id", "world", "goal", "opening"):
        if not isinstance(record.get(name), str):
            raise ValueError(
                f"task {record.get('id', '?')!r}: field {name!r} must be a string, "
                f"found {record.get(name)!r}; see docs/worlds.md for the record's shape"
            )
    facts = tuple(
        Fact(
            id=entry["id"],
            kind=entry["kind"],
            text=entry["text"],
            statement=entry["statement"],
            cues=tuple(entry.get("cues", ())),
            weight=float(entry.get("weight", 1.0)),
        )
        for entry in record.get("facts", ())
    )
    return Task(
        id=record["id"],
        world=record["world"],
        goal=record["goal"],
        opening=record["opening"],
        facts=facts,
        payload=record.get("payload", {}),
        provenance=record.get("provenance", "built-in"),
        extra=record.get("extra", {}),
    )
