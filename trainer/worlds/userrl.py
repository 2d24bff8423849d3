"""Reads the records of UserGym's worlds: ours, and those in a clone of UserRL.

A gym's file is looked for as a file, in a folder, or where a clone keeps it. Which records belong
to a split is read from the clone's parquet files; without them (or without pyarrow) a digest of
the key gives one record in six to evaluation, and the provenance says so. Nothing is downloaded,
and no gym's schema is known here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.task import Task
from trainer.worlds import source as sources
from trainer.worlds import task_records
from trainer.worlds.source import SourceError
from trainer.worlds.task_records import Make

EVALUATION_SHARE = 6
"""One record in so many is held out where no file says which."""

_FILE_OF_SPLIT = {"train": "train", "evaluation": "test"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Gym:
    """Where a clone of UserRL keeps one gym."""

    world: str
    """Our name of the world."""
    name: str
    """The gym's own, such as `TurtleGym`."""
    file: str
    ids: str
    """Folder of the split's parquet files inside the clone."""
    key: str = "id"
    """The field of a record by which a split names it; case does not matter."""

    @property
    def folder(self) -> Path:
        """Folder of the records inside the clone."""
        return Path("gyms", self.name, self.name.lower(), "data")


@dataclass(frozen=True)
class Split:
    """Which records of a gym's file belong to a split."""

    name: str
    listed: frozenset[str] | None
    """Keys, case folded, as the clone lists them; None where it does not."""

    def holds(self, key: str) -> bool:
        """True when the record of that key belongs to the split."""
        if self.listed is not None:
            return key.casefold() in self.listed
        digest = hashlib.sha256(key.casefold().encode()).digest()
        return (self.name == "evaluation") == (digest[0] % EVALUATION_SHARE == 0)

    @property
    def how(self) -> str:
        """In words, how the records were chosen."""
        return "split by digest of the key" if self.listed is None else "ids of the split"


def load(
    gym: Gym,
    name: str,
    source: Path | None,
    make: Make,
    *,
    own: Mapping[str, Path],
    schema: str,
    choose: Callable[[Any, Path, Split], Sequence[Mapping[str, Any]]] | None = None,
) -> tuple[Task, ...]:
    """Return the tasks of a split of a gym, or of our own, in file order.

    Args:
        gym: The gym.
        name: `train` or `evaluation`.
        source: None for our own tasks; else the root of a clone of UserRL, the folder that holds
            the gym's file, or such a file.
        make: See `task_records.Make`.
        own: The file of each split of our own.
        schema: In words, what a record needs.
        choose: Takes the content of the gym's file, its path and the split, and returns the
            records that belong to it; None where the file is a list of records.

    Raises:
        SourceError: if no file is found (all tried paths are listed) or a record is unusable.
    """
    if source is None:
        return task_records.load(own[name], make, schema=schema)
    path = locate(gym, source)
    chosen = split(gym, name, source)
    content = sources.read_json(path)
    if choose is None:
        every = listed(content, path)
        records = [record for record in every if chosen.holds(str(record.get(gym.key)))]
    else:
        records = choose(content, path, chosen)
    provenance = f"{gym.name} {path} ({chosen.how})"
    return task_records.build(records, path, make, provenance=provenance, schema=schema)


def locate(gym: Gym, source: Path) -> Path:
    """Return the file of a gym: `source` itself, in it, or where a clone keeps it.

    Raises:
        SourceError: if there is none; the message lists the paths that were tried.
    """
    if source.is_file():
        return source
    return sources.first_existing(
        [source / gym.file, source / gym.folder / gym.file], f"{gym.world} tasks"
    )


def split(gym: Gym, name: str, source: Path) -> Split:
    """Return which records belong to a split of a clone, a folder or a file."""
    parquet = source / gym.ids / f"{_FILE_OF_SPLIT[name]}.parquet"
    rows = rows_of(parquet)
    if rows is None:
        return Split(name, None)
    return Split(name, frozenset(str(row[gym.key]).casefold() for row in rows))


def rows_of(path: Path) -> list[dict[str, Any]] | None:
    """Return the `reward_model` of every row of a clone's parquet file, None if unreadable here."""
    if not path.is_file():
        return None
    if importlib.util.find_spec("pyarrow") is None:
        _log.warning("%s: not read, since pyarrow is not installed (pip install pyarrow)", path)
        return None
    from pyarrow import parquet  # pyright: ignore[reportMissingImports] - optional

    table = parquet.read_table(path, columns=["reward_model"])
    return [row["reward_model"] for row in table.to_pylist()]


def listed(content: Any, path: Path) -> list[dict[str, Any]]:
    """Return the records of a file whose content must be a list of objects.

    Raises:
        SourceError: if it is anything else.
    """
    if not isinstance(content, list) or not all(isinstance(entry, dict) for entry in content):
        raise SourceError(f"{path}: must be a list of tasks, found {type(content).__name__}")
    return content
