"""The shelf: where a task's databases and policy lie, read once and shared by all episodes.

A task names the files it needs by their names and the sha256 of their bytes; the folder is the
built-in one of its world in the checkout, or the one its provenance says. So a task means the same
wherever its data lies, and data that has changed since is refused. Nothing is written and nothing
downloaded; no path leaves the folder.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from trainer.task import Task
from trainer.worlds.source import BUILT_IN, SourceError
from trainer.worlds.tau2.office import Bases

WORLDS = Path(__file__).parents[1]
"""Where the built-in worlds lie; a run's copy of a world has no data."""
REAL = "tau2-bench "
"""What the provenance of a real task begins with; its folder follows."""
OLDER = "tau-bench "
"""The same for a task of the benchmark before it."""

Shape = Callable[[Any], dict[str, Any]]
"""Brings a database file's content into the form that a domain's tools expect."""


def named_files(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the sha256 of each file, by its name; what a task's payload says of its data."""
    return {name: hashlib.sha256(_bytes(folder / name)).hexdigest() for name in names}


def folder_of(task: Task) -> Path:
    """Return the folder in which a task's data lies.

    Args:
        task: A task with `payload["shelf"]`, the name of its folder among the built-in ones.

    Raises:
        SourceError: if the provenance is neither built-in nor a folder.
    """
    if task.provenance == BUILT_IN:
        return WORLDS / Path(task.world).name / Path(task.payload["shelf"]).name
    for prefix in (REAL, OLDER):
        if task.provenance.startswith(prefix):
            return Path(task.provenance.removeprefix(prefix))
    raise SourceError(
        f"task {task.id}: its provenance {task.provenance!r} names no folder with its data; load "
        "it with the loader of its world"
    )


def bases(task: Task, *, agent: Shape = dict, user: Shape = dict) -> Bases:
    """Return the databases of a task, read at most once in a process.

    Args:
        task: A task with `payload["agent_db"]` and `payload["user_db"]`, names and digests; with
            `payload["db_folder"]`, a folder inside the task's own, they lie there.
        agent: Shape of the agent's database.
        user: Shape of the user's database.

    Raises:
        SourceError: if a file is missing, cannot be read, or is not the one the task was made for.
    """
    folder = folder_of(task) / Path(task.payload.get("db_folder", "")).name
    return Bases(
        _database(folder, tuple(sorted(task.payload["agent_db"].items())), agent),
        _database(folder, tuple(sorted(task.payload["user_db"].items())), user),
    )


def policy(task: Task) -> tuple[str, ...]:
    """Return the texts of `payload["policy"]`, in their order.

    Raises:
        SourceError: as `bases` does.
    """
    folder = folder_of(task)
    return tuple(_text(folder, name, digest) for name, digest in task.payload["policy"])


@lru_cache(maxsize=16)
def _database(folder: Path, files: tuple[tuple[str, str], ...], shape: Shape) -> Mapping[str, Any]:
    contents = {name: _content(name, _checked(folder, name, digest)) for name, digest in files}
    if len(contents) == 1:
        return shape(next(iter(contents.values())))
    return shape({name.partition(".")[0]: content for name, content in contents.items()})


@lru_cache(maxsize=64)
def _text(folder: Path, name: str, digest: str) -> str:
    return _checked(folder, name, digest).decode()


def _content(name: str, content: bytes) -> Any:
    try:
        if name.endswith(".toml"):
            return tomllib.loads(content.decode())
        return json.loads(gzip.decompress(content) if name.endswith(".gz") else content)
    except (ValueError, OSError) as error:
        raise SourceError(f"{name}: cannot be read: {error}; mend or replace the file") from error


def _checked(folder: Path, name: str, digest: str) -> bytes:
    if Path(name).name != name:
        raise SourceError(f"{name!r} is not the name of a file in {folder}; name files, not paths")
    content = _bytes(folder / name)
    if hashlib.sha256(content).hexdigest() != digest:
        raise SourceError(
            f"{folder / name} has changed since the tasks were loaded; load them again"
        )
    return content


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror})") from error
