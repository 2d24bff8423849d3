"""What is promised about each knob, read once from the four `*.schema.json` files beside this.

A schema file is the single declaration: the gate, the trainer, the skill, the documents and an
editor's completion all read it. This module knows nothing about values or about YAML.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

FILES = ("user", "environment", "reward", "agent")
"""The knob files by name, without `.yaml`, in the order in which they are read and told."""

WORLDS = "worlds"
"""The key of a knob file that holds other values for single worlds."""

SCHEMA_DIRECTORY = Path(__file__).parent


class Harder(StrEnum):
    """The direction that makes tasks harder for the agent."""

    UP = "up"
    DOWN = "down"
    NONE = "none"


class Scope(StrEnum):
    """What takes up a new value, and when."""

    ROLLOUT = "rollout"
    """Episodes that start after the next step boundary."""
    LEARNER = "learner"
    """The next training step."""
    WORLD = "world"
    """New worker processes at the next step boundary."""


class StepKind(StrEnum):
    """How the distance of one write is measured."""

    LINEAR = "linear"
    """By the absolute difference."""
    LOG = "log"
    """By the ratio of the larger to the smaller value, both positive."""
    ANY = "any"
    """Not at all: any valid value may follow any other."""


@dataclass(frozen=True)
class StepLimit:
    """How far one write may move a knob."""

    kind: StepKind
    size: float | None = None
    """Largest difference (linear) or ratio (log); None for any."""

    def allows(self, old: Any, new: Any) -> bool:
        """Return whether one write may go from `old` to `new`.

        Values that are not numbers (null, names, lists, maps) have no distance and are allowed;
        so is a ratio to or from zero, which has no size.
        """
        if self.size is None or not (_is_number(old) and _is_number(new)):
            return True
        # A bound such as 0.7 - 0.6 <= 0.1 must hold as it is read, not as floats subtract.
        slack = 1 + 1e-9
        if self.kind is StepKind.LINEAR:
            return abs(new - old) <= self.size * slack
        low, high = sorted((abs(old), abs(new)))
        return low == 0 or high / low <= self.size * slack

    def __str__(self) -> str:
        """Return the limit in words, as in `at most 0.1` or `at most 10 times`."""
        if self.size is None:
            return "any"
        size = f"{self.size:g}"
        return f"at most {size}" if self.kind is StepKind.LINEAR else f"at most {size} times"


@dataclass(frozen=True)
class KnobSpec:
    """The declaration of one knob."""

    path: str
    """File and key, as in `user.facts_per_reply`."""
    type: str
    """number, integer, string, choice, array or object; null beside it is `nullable`."""
    default: Any
    low: float | None
    """Lowest value, allowed itself unless the schema says `exclusiveMinimum`."""
    high: float | None
    choices: tuple[str, ...]
    """All values of a choice; empty for other types."""
    harder: Harder
    max_step: StepLimit
    scope: Scope
    lag_steps: int
    """Training steps until an effect can be expected in the distal metric."""
    proximal: str
    """The metric that moves first."""
    distal: str
    """The metric that it is meant to move in the end; `none` for operational knobs."""
    worlds: bool
    """Whether single worlds may have another value."""
    credit: tuple[str, ...]
    """The credit estimators under which it acts; empty if under every one."""
    nullable: bool
    description: str
    schema: Mapping[str, Any]
    """The JSON Schema of the value with our keywords; read it, never change it."""

    @property
    def file(self) -> str:
        """The knob file's name, without `.yaml`."""
        return self.path.partition(".")[0]

    @property
    def key(self) -> str:
        """The key within the file."""
        return self.path.partition(".")[2]

    def is_harder(self, old: Any, new: Any) -> bool:
        """Return whether going from `old` to `new` makes tasks harder.

        Null means "without limit" wherever a knob with a direction allows it, so it counts as
        infinitely high.
        """
        if self.harder is Harder.NONE:
            return False
        before, after = (math.inf if value is None else value for value in (old, new))
        return after > before if self.harder is Harder.UP else after < before

    @classmethod
    def declared(cls, path: str, schema: Mapping[str, Any]) -> KnobSpec:
        """Return the promise that one property of a schema makes.

        Raises:
            ValueError: if a keyword of ours is missing or has a value outside its vocabulary.
        """
        missing = [keyword for keyword in _KEYWORDS if keyword not in schema]
        if missing:
            raise ValueError(f"{path} lacks {', '.join(missing)}: declare each knob completely")
        names = _type_names(schema)
        step = schema["x-max-step"]
        return cls(
            path=path,
            type=next(name for name in names if name != "null"),
            default=schema["default"],
            low=schema.get("minimum", schema.get("exclusiveMinimum")),
            high=schema.get("maximum", schema.get("exclusiveMaximum")),
            choices=tuple(schema.get("enum", ())),
            harder=Harder(schema["x-harder"]),
            max_step=StepLimit(StepKind(step["kind"]), step.get("size")),
            scope=Scope(schema["x-scope"]),
            lag_steps=schema["x-lag-steps"],
            proximal=schema["x-proximal"],
            distal=schema["x-distal"],
            worlds=schema["x-worlds"],
            credit=tuple(schema.get("x-credit", ())),
            nullable="null" in names,
            description=schema["description"],
            schema=schema,
        )


_KEYWORDS = (
    "description",
    "default",
    "x-scope",
    "x-harder",
    "x-max-step",
    "x-lag-steps",
    "x-proximal",
    "x-distal",
    "x-worlds",
)


@cache
def schema(file: str) -> Mapping[str, Any]:
    """Return the JSON Schema of one knob file; read it, never change it.

    Raises:
        ValueError: if there is no such knob file.
    """
    if file not in FILES:
        raise ValueError(f"{file!r} is no knob file; the files are {', '.join(FILES)}")
    text = (SCHEMA_DIRECTORY / f"{file}.schema.json").read_text(encoding="utf-8")
    return MappingProxyType(json.loads(text))


@cache
def specs() -> Mapping[str, KnobSpec]:
    """Return every knob by its path, in the order of the files and of their keys."""
    found: dict[str, KnobSpec] = {}
    for file in FILES:
        for key, declaration in schema(file)["properties"].items():
            if key != WORLDS:
                path = f"{file}.{key}"
                found[path] = KnobSpec.declared(path, declaration)
    return MappingProxyType(found)


def keys(file: str) -> tuple[str, ...]:
    """Return the knobs of one file by key, in the order of its schema."""
    return tuple(spec.key for spec in specs().values() if spec.file == file)


def _type_names(schema: Mapping[str, Any]) -> list[str]:
    if "enum" in schema:
        return ["choice"]
    declared = schema["type"]
    return [declared] if isinstance(declared, str) else list(cast("list[str]", declared))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
