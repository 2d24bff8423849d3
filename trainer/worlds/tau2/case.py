"""Cases: what a task of the benchmark says about its world, its end and how it is judged.

A case is the part of a task record that world and verifier need, read whole or refused. Keys that
are not of the schema are told at every level, none is dropped without a word. What the user
knows and wants is read elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Side(StrEnum):
    """Whose tools and whose database."""

    AGENT = "assistant"
    USER = "user"


class Component(StrEnum):
    """What a reward may depend on."""

    DB = "DB"
    ENV_ASSERTION = "ENV_ASSERTION"
    ACTION = "ACTION"
    COMMUNICATE = "COMMUNICATE"
    NL_ASSERTION = "NL_ASSERTION"


DEFAULT_BASIS = (Component.DB, Component.COMMUNICATE)


@dataclass(frozen=True)
class NamedCall:
    """A function of one side, by its name, with arguments."""

    side: Side
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GoldAction:
    """A call that an ideal dialogue contains."""

    call: NamedCall
    compare: tuple[str, ...] | None = None
    """Arguments by which it is recognised; None for all of them, empty for its name alone."""


@dataclass(frozen=True)
class Assertion:
    """A check of one side that must answer as expected in the end."""

    call: NamedCall
    expected: bool = True


@dataclass(frozen=True)
class Case:
    """How one task begins and how it is judged."""

    id: str
    agent_data: Mapping[str, Any] = field(default_factory=dict)
    """Laid over the agent's database before anything else happens."""
    user_data: Mapping[str, Any] = field(default_factory=dict)
    setups: tuple[NamedCall, ...] = ()
    history: tuple[Mapping[str, Any], ...] = ()
    """Messages that were exchanged before, with their tool calls."""
    actions: tuple[GoldAction, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    communicate: tuple[str, ...] = ()
    """Texts of which each must occur in some message of the agent's."""
    nl_assertions: tuple[str, ...] = ()
    """Statements that only a judge could hold against a dialogue."""
    basis: tuple[Component, ...] = DEFAULT_BASIS
    compares_state: bool = True
    """False where the record lists neither actions nor assertions, so that no state is the end."""


_RECORD = (
    "id", "description", "user_scenario", "ticket", "initial_state", "evaluation_criteria",
    "issues", "required_documents", "user_tools", "annotations",
)  # fmt: skip
_LEVELS: Mapping[str, tuple[str, ...]] = {
    "user_scenario": ("persona", "instructions"),
    "initial_state": ("initialization_data", "initialization_actions", "message_history"),
    "evaluation_criteria": (
        "actions", "env_assertions", "communicate_info", "nl_assertions", "reward_basis",
    ),
}  # fmt: skip
_ACTION = ("action_id", "requestor", "name", "arguments", "info", "compare_args")
_ASSERTION = ("env_type", "func_name", "arguments", "assert_value", "message")
_SETUP = ("env_type", "func_name", "arguments")


def read_case(record: Mapping[str, Any]) -> Case:
    """Return the case of a task record.

    Raises:
        KeyError: if a field is missing.
        ValueError: if a field has a value that the schema does not know.
    """
    state = record.get("initial_state") or {}
    data = state.get("initialization_data") or {}
    criteria = record.get("evaluation_criteria") or {}
    basis = criteria.get("reward_basis")
    return Case(
        id=record["id"],
        agent_data=data.get("agent_data") or {},
        user_data=data.get("user_data") or {},
        setups=tuple(_named(entry) for entry in state.get("initialization_actions") or ()),
        history=tuple(state.get("message_history") or ()),
        actions=tuple(_action(entry) for entry in criteria.get("actions") or ()),
        assertions=tuple(
            Assertion(_named(entry), bool(entry.get("assert_value", True)))
            for entry in criteria.get("env_assertions") or ()
        ),
        communicate=tuple(criteria.get("communicate_info") or ()),
        nl_assertions=tuple(criteria.get("nl_assertions") or ()),
        basis=DEFAULT_BASIS if basis is None else tuple(Component(name) for name in basis),
        compares_state=any(
            criteria.get(name) is not None for name in ("actions", "env_assertions")
        ),
    )


def unknown_keys(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dotted name of every key that the schema does not know."""
    yield from _unknown(record, _RECORD, "")
    for level, known in _LEVELS.items():
        yield from _unknown(record.get(level) or {}, known, f"{level}.")
    criteria = record.get("evaluation_criteria") or {}
    for action in criteria.get("actions") or ():
        yield from _unknown(action, _ACTION, "evaluation_criteria.actions.")
    for assertion in criteria.get("env_assertions") or ():
        yield from _unknown(assertion, _ASSERTION, "evaluation_criteria.env_assertions.")
    for setup in (record.get("initial_state") or {}).get("initialization_actions") or ():
        yield from _unknown(setup, _SETUP, "initial_state.initialization_actions.")


def _unknown(record: Mapping[str, Any], known: tuple[str, ...], prefix: str) -> Iterator[str]:
    return (f"{prefix}{key}" for key in record if key not in known)


def _named(entry: Mapping[str, Any]) -> NamedCall:
    return NamedCall(Side(entry["env_type"]), entry["func_name"], entry.get("arguments") or {})


def _action(entry: Mapping[str, Any]) -> GoldAction:
    compare = entry.get("compare_args")
    return GoldAction(
        NamedCall(
            Side(entry.get("requestor") or Side.AGENT), entry["name"], entry.get("arguments") or {}
        ),
        None if compare is None else tuple(compare),
    )
