"""A tool's annotations are its schema, and arguments that do not fit are refused in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, Literal

import pytest

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.signature import parameters_of
from trainer.worlds.tau2.toolkit import Kind, ToolError, generic, read, render, write


class Mode(StrEnum):
    """How fast."""

    FAST = "fast"
    SLOW = "slow"


@dataclass(frozen=True)
class Stop:
    """A stay."""

    city: str
    nights: int = 1


@write
def travel(
    db: Database,
    to: str,
    stops: list[Stop | dict],
    price: float = 1.5,
    note: str | None = None,
    mode: Literal["car", "rail"] = "rail",
) -> str:
    """Go somewhere by some means.

    More that no agent reads.
    """
    return f"{to} by {mode}"


def test_annotations_become_a_schema() -> None:
    assert travel.parameters == {
        "type": "object",
        "required": ["to", "stops"],
        "properties": {
            "to": {"type": "string"},
            "stops": {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"$ref": "#/$defs/Stop"},
                        {"type": "object", "additionalProperties": True},
                    ]
                },
            },
            "price": {"type": "number", "default": 1.5},
            "note": {"type": "string", "default": None},
            "mode": {"type": "string", "enum": ["car", "rail"], "default": "rail"},
        },
        "$defs": {
            "Stop": {
                "type": "object",
                "required": ["city"],
                "properties": {
                    "city": {"type": "string"},
                    "nights": {"type": "integer", "default": 1},
                },
            }
        },
    }
    assert travel.kind is Kind.WRITE and travel.mutates
    assert travel.summary == "Go somewhere by some means."


def test_an_enum_is_defined_by_its_name() -> None:
    def choose(db: Database, mode: Mode) -> None: ...

    assert parameters_of(choose)["$defs"] == {"Mode": {"type": "string", "enum": ["fast", "slow"]}}


def test_a_type_without_a_schema_is_a_fault_of_the_program() -> None:
    def odd(db: Database, when: complex) -> None: ...

    with pytest.raises(TypeError, match="has no schema here"):
        parameters_of(odd)


def test_what_is_given_by_name_alone_is_for_worlds_and_no_agent_can_set_it() -> None:
    @read
    def look(db: Database, city: str, *, far: bool = False) -> str:
        """Look at a city."""
        return f"{city}{', far' * far}"

    assert list(look.parameters["properties"]) == ["city"]
    assert look.run(Database({}), {"city": "Ulm"}) == "Ulm"
    with pytest.raises(ToolError, match="look has no far; it has city"):
        look.run(Database({}), {"city": "Ulm", "far": True})
    further = replace(look, function=partial(look.function, far=True))
    assert further.run(Database({}), {"city": "Ulm"}) == "Ulm, far"


def test_arguments_that_fit_are_passed_on() -> None:
    assert travel.run(Database({}), {"to": "Tarn", "stops": []}) == "Tarn by rail"
    stops: list[Any] = [{"city": "Ulm"}, {"anything": 1}]
    assert travel.run(Database({}), {"to": "Tarn", "stops": stops, "mode": "car"}) == "Tarn by car"


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ({}, "travel lacks to, stops"),
        ({"to": 3, "stops": []}, "to must be of type string"),
        ({"to": "x", "stops": "y"}, "stops must be of type array"),
        ({"to": "x", "stops": [3]}, r"stops\[0\] must be of type object"),
        ({"to": "x", "stops": [], "mode": "boat"}, "mode must be one of car, rail"),
        ({"to": "x", "stops": [], "price": True}, "price must be of type number"),
        ({"to": "x", "stops": [], "price": float("inf")}, "price must be of type number"),
        ({"to": "x", "stops": [], "price": 10**400}, "price must be of type number"),
        ({"to": "x", "stops": [], "sudo": 1}, "travel has no sudo; it has to, stops"),
        ({"to": "x", "stops": [], "note": ["list"]}, "note must be of type string"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ToolError, match=refusal):
        travel.run(Database({}), arguments)


def test_results_read_as_text_or_json() -> None:
    @read
    def record(db: Database) -> dict[str, Any]:
        """Show the record."""
        return db.get("r")

    assert record.run(Database({"r": {"a": None, "b": 1.0}}), {}) == '{"a": null, "b": 1.0}'
    assert render("as it is") == "as it is"
    assert not record.mutates


def test_a_generic_tool_changes_nothing() -> None:
    @generic
    def think(db: Database, thought: str) -> str:
        """Think."""
        return thought

    assert think.signature["tool_type"] == "generic"
    assert not think.signature["mutates_state"]
