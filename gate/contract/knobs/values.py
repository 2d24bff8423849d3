"""Knobs as values: what is desired, how two states differ, and applying the difference.

Values are checked when they come in, so whoever holds `Knobs` holds valid ones. This module knows
nothing about files, revisions or who wants what.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, cast

from gate.contract.findings import Refused
from gate.contract.knobs.check import check
from gate.contract.knobs.spec import FILES, WORLDS, keys, specs


class Absent(Enum):
    """The value of an override that is not there: the world follows the file's own value."""

    ABSENT = "no override"

    def __str__(self) -> str:
        """Return it in words."""
        return self.value


ABSENT = Absent.ABSENT


@dataclass(frozen=True)
class KnobChange:
    """One knob moving from old to new."""

    path: str
    """`user.facts_per_reply`, or for one world `user.worlds.travel.facts_per_reply`."""
    old: Any
    """Value before; ABSENT where an override begins."""
    new: Any
    """Value after; ABSENT where an override ends."""

    @property
    def knob(self) -> str:
        """The path of its `KnobSpec`, for a world's override too."""
        parts = self.path.split(".")
        return f"{parts[0]}.{parts[-1]}"

    @property
    def world(self) -> str | None:
        """The world whose override it is; None for the file's own value."""
        parts = self.path.split(".")
        return ".".join(parts[2:-1]) if parts[1] == WORLDS else None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; a side that is ABSENT is left out."""
        sides = {"old": self.old, "new": self.new}
        return {"path": self.path, **{k: v for k, v in sides.items() if v is not ABSENT}}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> KnobChange:
        """Return the change that `to_json` wrote."""
        return cls(record["path"], record.get("old", ABSENT), record.get("new", ABSENT))


@dataclass(frozen=True)
class Knobs:
    """The desired state: every knob's value, and what differs in single worlds.

    Two `Knobs` are equal, and have one digest, exactly when all values are.
    """

    values: Mapping[str, Mapping[str, Any]]
    """File -> key -> JSON value, with `worlds` (world -> key -> value) in each file; read it,
    never change it. It must have passed `check`: use `load`, `from_values` or `apply`."""

    def get(self, path: str, world: str | None = None) -> Any:
        """Return a knob's value, in one world if named.

        Raises:
            KeyError: if there is no such knob.
        """
        file, _, key = path.partition(".")
        if path not in specs():
            raise KeyError(f"{path} is no knob; gate.contract.knobs.specs() has them all")
        values = self.values[file]
        overrides: Mapping[str, Any] = {}
        if world is not None:
            overrides = values[WORLDS].get(world, overrides)
        return copy.deepcopy(overrides.get(key, values[key]))

    def file(self, name: str, world: str | None = None) -> dict[str, Any]:
        """Return all knobs of one file by key, as they are in one world if named."""
        return {key: self.get(f"{name}.{key}", world) for key in keys(name)}

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hex, of the values as canonical JSON."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the values as plain JSON; `from_values` reads them back."""
        return {file: copy.deepcopy(dict(self.values[file])) for file in FILES}


def from_values(values: Mapping[str, Mapping[str, Any]], *, worlds: Collection[str]) -> Knobs:
    """Return the knobs that JSON values stand for.

    Raises:
        Refused: with every fault at once, if a knob is missing, unknown or invalid.
    """
    checked: dict[str, dict[str, Any]] = {}
    faults = [finding for file in FILES for finding in _check_file(file, values, worlds, checked)]
    if faults:
        raise Refused(faults)
    return Knobs(checked)


def _check_file(
    file: str,
    values: Mapping[str, Mapping[str, Any]],
    worlds: Collection[str],
    checked: dict[str, dict[str, Any]],
) -> list[Any]:
    document: Any = values.get(file, {})
    if isinstance(document, Mapping):
        document = copy.deepcopy(dict(cast("Mapping[str, Any]", document)))
    checked[file], faults = check(file, document, worlds=worlds)
    return [replace(fault.finding, file=f"{file}.yaml") for fault in faults]


def defaults() -> Knobs:
    """Return every knob at its default, the same in all worlds."""
    values: dict[str, dict[str, Any]] = {file: {} for file in FILES}
    for spec in specs().values():
        values[spec.file][spec.key] = spec.default
    return from_values(values, worlds=())


def diff(old: Knobs, new: Knobs) -> tuple[KnobChange, ...]:
    """Return the changes that lead from one state to another, in the order of the files.

    A list or a map (`reward.shaping`, `environment.task_mix`) changes as one value.
    """
    changes: list[KnobChange] = []
    for file in FILES:
        before, after = old.values[file], new.values[file]
        for key in keys(file):
            if before[key] != after[key]:
                changes.append(KnobChange(f"{file}.{key}", before[key], after[key]))
        for world in sorted({*before[WORLDS], *after[WORLDS]}):
            left, right = before[WORLDS].get(world, {}), after[WORLDS].get(world, {})
            for key in keys(file):
                was, will = left.get(key, ABSENT), right.get(key, ABSENT)
                if was != will:
                    changes.append(KnobChange(f"{file}.{WORLDS}.{world}.{key}", was, will))
    return tuple(changes)


def apply(knobs: Knobs, changes: Iterable[KnobChange]) -> Knobs:
    """Return the knobs after some changes; `old` is not compared with what is there.

    Worlds that the changes name are taken as known: whether a run has them is checked where its
    worlds are known.

    Raises:
        Refused: if a change names no knob, or the result is invalid.
    """
    values = knobs.to_json()
    worlds = known_worlds(values)
    for change in changes:
        file, _, key = change.path.partition(".")
        target: dict[str, Any] = values.get(file, {})
        if change.world is not None:
            worlds |= {change.world}
            key = key.rpartition(".")[2]
            target = target.setdefault(WORLDS, {}).setdefault(change.world, {})
        if change.new is ABSENT:
            target.pop(key, None)
        else:
            target[key] = copy.deepcopy(change.new)
            worlds |= _worlds_named_by(file, key, change.new)
        values.setdefault(file, target)
    unknown = {file: entries for file, entries in values.items() if file not in FILES}
    if unknown:
        raise KeyError(f"{', '.join(unknown)}: no knob file; the files are {', '.join(FILES)}")
    return from_values(values, worlds=worlds)


def known_worlds(values: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Return every world that some values name."""
    found: set[str] = set()
    for file, entries in values.items():
        found |= set(cast("Mapping[str, Any]", entries.get(WORLDS, {})))
        for key, value in entries.items():
            found |= _worlds_named_by(file, key, value)
    return found


def _worlds_named_by(file: str, key: str, value: Any) -> set[str]:
    spec = specs().get(f"{file}.{key}")
    if spec is None or spec.schema.get("x-keys") != "world" or not isinstance(value, dict):
        return set()
    return {str(name) for name in cast("dict[Any, Any]", value)}
