"""Drafts: how our own tau2 tasks are written, checked and put on their shelves.

A draft becomes a record of the benchmark's schema with what our symbolic users need beside it. It
is written only if its gold actions are carried out without a refusal, and if doing nothing is not
its end. Same drafts, same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from trainer.worlds.tau2.case import Case, Component, read_case
from trainer.worlds.tau2.office import Bases, Domain, close_by_gold, open_office
from trainer.worlds.tau2.scoring import score


class UnsoundTaskError(ValueError):
    """A task that must not be shipped; the message says which, and what is wrong with it."""


class Told(NamedTuple):
    """Something that the user knows and tells when asked."""

    kind: str
    """One word, unique in its task."""
    statement: str
    cues: tuple[str, ...]
    calls: tuple[Mapping[str, Any], ...] = ()
    """What the user does, with tools of their own, when telling it."""


class Step(NamedTuple):
    """A gold action of the agent's."""

    name: str
    arguments: Mapping[str, Any]
    compare: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Draft:
    """One task of our own."""

    id: str
    opening: str
    goal: str
    told: tuple[Told, ...]
    steps: tuple[Step, ...]
    communicate: tuple[str, ...] = ()
    basis: tuple[Component, ...] = (Component.DB, Component.COMMUNICATE)
    assertions: tuple[Mapping[str, Any], ...] = ()
    initial_state: Mapping[str, Any] | None = None
    user_steps: tuple[Step, ...] = field(default=())
    """Gold actions of the user's, done by what the user tells."""

    def record(self) -> dict[str, Any]:
        """Return the task as a record of the file."""
        facts = [
            {
                "id": f"F{index}",
                "kind": told.kind,
                "text": f"what the user knows about {told.kind}: {told.statement}",
                "statement": told.statement,
                "cues": list(told.cues),
            }
            for index, told in enumerate(self.told, start=1)
        ]
        record: dict[str, Any] = {
            "id": self.id,
            "user_scenario": {
                "persona": None,
                "instructions": {
                    "reason_for_call": self.opening,
                    "known_info": " ".join(told.statement for told in self.told),
                    "task_instructions": self.goal,
                },
            },
            "initial_state": self.initial_state,
            "evaluation_criteria": self._criteria(),
            "opening": self.opening,
            "goal": self.goal,
            "facts": facts,
        }
        calls = {
            fact["id"]: [dict(call) for call in told.calls]
            for fact, told in zip(facts, self.told, strict=True)
            if told.calls
        }
        return record | ({"user_calls": calls} if calls else {})

    def _criteria(self) -> dict[str, Any]:
        sides = [("assistant", self.steps), ("user", self.user_steps)]
        actions = [
            {
                "action_id": f"{self.id}_{index}",
                "requestor": side,
                "name": step.name,
                "arguments": dict(step.arguments),
                "compare_args": None if step.compare is None else list(step.compare),
            }
            for index, (side, step) in enumerate(
                (side, step) for side, steps in sides for step in steps
            )
        ]
        return {
            "actions": actions,
            "env_assertions": [dict(one) for one in self.assertions] or None,
            "communicate_info": list(self.communicate),
            "nl_assertions": [],
            "reward_basis": [component.value for component in self.basis],
        }


def check(draft: Draft, domain: Domain, bases: Bases) -> None:
    """Make sure that a task may be shipped.

    Raises:
        UnsoundTaskError: if a gold action is refused, an assertion fails in the end, or whoever
            does nothing has reached the end.
    """
    case = read_case(draft.record())
    gold = close_by_gold(domain, case, bases)
    refused = [outcome.text for outcome in gold.log if not outcome.ok]
    if refused:
        raise UnsoundTaskError(f"{draft.id}: a gold action is refused: {refused[0]}")
    best = score(domain, case, bases, gold, case.communicate, ended=True)
    if best.reward != 1.0:
        raise UnsoundTaskError(f"{draft.id}: the gold actions earn {best.met}; mend the basis")
    if _earned_by_nothing(case, domain, bases):
        raise UnsoundTaskError(f"{draft.id}: doing nothing is its end; ask for something")
    if len({told.kind for told in draft.told}) < len(draft.told):
        raise UnsoundTaskError(f"{draft.id}: two facts are of one kind; name them apart")


def write(
    folder: Path,
    drafts: Sequence[Draft],
    databases: Mapping[str, Any],
    *,
    domain: Domain,
    bases: Bases,
    policy: str,
    canary: str = "",
) -> None:
    """Write a shelf of sound tasks: its databases, its policy and, in one file, its tasks.

    Args:
        folder: `tasks` or `evaluation` of a world.
        drafts: The tasks, in order.
        databases: Content by file name.
        domain: The desk that they are played at.
        bases: The databases as the desk takes them.
        policy: What its agents must heed.
        canary: Stands in every record of an evaluation; empty for training.

    Raises:
        UnsoundTaskError: if a task may not be shipped (see `check`); nothing is written.
    """
    for draft in drafts:
        check(draft, domain, bases)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in databases.items():
        (folder / name).write_text(_line(content), "utf-8")
    records = [draft.record() | ({"canary": canary} if canary else {}) for draft in drafts]
    name = "tasks.jsonl" if canary else "train.jsonl"
    (folder / name).write_text("".join(map(_line, records)), "utf-8")
    (folder / "policy.md").write_text(policy, "utf-8")


def _earned_by_nothing(case: Case, domain: Domain, bases: Bases) -> bool:
    untouched = open_office(domain, case, bases)
    return score(domain, case, bases, untouched, (), ended=True).reward == 1.0


def _line(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False) + "\n"
