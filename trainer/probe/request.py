"""A request to the probe: which candidate, held against what is in force, and how much to try.

One JSON file, read whole or refused whole. What the candidate's folders hold is not looked at
here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gate.contract import knobs
from gate.contract.findings import Refused
from gate.contract.knobs import Knobs
from gate.contract.knobs.values import known_worlds
from trainer.errors import Unusable

MOST_TASKS = 32
"""Tasks that one probe plays, over all its worlds."""
MOST_SECONDS = 10.0
"""Seconds that the checks may take together."""
MOST_EPISODES = 256
"""Stored episodes that are looked at, the newest ones."""


class RequestError(Unusable):
    """A request that cannot be used; the message says which field and what belongs there."""


class FalseVerdict(NamedTuple):
    """A stored verdict that a verifier's edit says is wrong."""

    episode: str
    """Id of the episode."""
    should_be: float
    """The success in [0, 1] that it should have been given."""


@dataclass(frozen=True)
class Values:
    """One side of a change: its worlds and its knobs."""

    world_root: Path
    """Holds a folder for each world of the run."""
    knobs: Knobs


@dataclass(frozen=True)
class Request:
    """What is probed."""

    new: Values
    """The candidate."""
    old: Values | None
    """What is in force; None where nothing is, as for a check of the repository."""
    worlds: tuple[str, ...]
    """The worlds to try."""
    run: Path | None = None
    """The run whose recipe names the tasks, and whose episodes are backtested."""
    tasks: int = MOST_TASKS
    seed: int = 0
    """Draws the tasks and all chance of the scripted episodes."""
    seconds: float = MOST_SECONDS
    max_episodes: int = MOST_EPISODES
    false_verdicts: tuple[FalseVerdict, ...] = ()


def read(path: Path) -> Request:
    """Return the request in a file.

    Raises:
        RequestError: if it cannot be read, or a field is missing, unknown or of the wrong kind.
    """
    try:
        values = json.loads(path.read_bytes())
    except OSError as error:
        raise RequestError(f"{path}: cannot be read ({error.strerror}); name a request") from error
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{path}: not JSON: {error}; write one object") from error
    if not isinstance(values, dict):
        raise RequestError(f"{path}: holds {type(values).__name__}; write one object")
    try:
        return from_values(values)
    except RequestError as error:
        raise RequestError(f"{path}: {error}") from error


def from_values(values: Mapping[str, Any]) -> Request:
    """Return the request that JSON values stand for.

    Raises:
        RequestError: if a field is missing, unknown or of the wrong kind.
    """
    for key in values:
        if key not in _FIELDS:
            raise RequestError(f"unknown field {key!r}; the fields are {', '.join(_FIELDS)}")
    if "new" not in values:
        raise RequestError("new is missing; add the candidate's world_root and knobs")
    new, old = _side(values["new"], "new"), values.get("old")
    run, worlds = values.get("run"), values.get("worlds")
    if worlds is not None and not _texts(worlds):
        raise RequestError(f"worlds is {worlds!r}; write a list of names of worlds")
    if run is not None and not isinstance(run, str):
        raise RequestError(f"run is {run!r}; write the path of a run's folder, or null")
    return Request(
        new=new,
        old=None if old is None else _side(old, "old"),
        worlds=tuple(worlds or _folders(new.world_root)),
        run=None if run is None else Path(run),
        tasks=min(_number(values, "tasks", int, MOST_TASKS, 1), MOST_TASKS),
        seed=_number(values, "seed", int, 0, 0),
        seconds=min(float(_number(values, "seconds", float, MOST_SECONDS, 0.1)), MOST_SECONDS),
        max_episodes=_number(values, "max_episodes", int, MOST_EPISODES, 0),
        false_verdicts=_false_verdicts(values.get("false_verdicts") or ()),
    )


_FIELDS = (
    "run", "old", "new", "worlds", "tasks", "seed", "seconds", "false_verdicts", "max_episodes",
)  # fmt: skip


def _side(value: Any, name: str) -> Values:
    if not isinstance(value, Mapping) or not isinstance(value.get("world_root"), str):
        raise RequestError(f"{name} must hold world_root, a path, and knobs, the values by file")
    root, documents = Path(value["world_root"]), value.get("knobs")
    if not root.is_dir():
        raise RequestError(f"{name}.world_root {root} is no folder; name the folder of the worlds")
    try:
        if not documents:
            return Values(root, knobs.defaults())
        # Worlds that the knobs name and nobody has are a finding, not a fault of the request.
        named = {*_folders(root), *known_worlds(documents)}
        return Values(root, knobs.from_values(documents, worlds=named))
    except (Refused, TypeError, AttributeError) as error:
        raise RequestError(f"{name}.knobs cannot be used: {error}") from error


def _folders(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_dir() and path.name[0] != ".")


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _number(values: Mapping[str, Any], name: str, kind: type, default: Any, least: float) -> Any:
    value = values.get(name)
    if value is None:
        return default
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole or (kind is float and isinstance(value, float))) or not value >= least:
        raise RequestError(f"{name} is {value!r}; write a number of at least {least:g}")
    return value


def _false_verdicts(entries: Any) -> tuple[FalseVerdict, ...]:
    try:
        return tuple(
            FalseVerdict(str(entry["episode"]), float(entry["should_be"])) for entry in entries
        )
    except (TypeError, KeyError, ValueError) as error:
        raise RequestError(
            f"false_verdicts: {error!r}; each entry names an episode and what its success should be"
        ) from error
