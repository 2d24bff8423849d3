"""The worlds there are: one literal entry each, and the one way to their tasks.

Nothing here plays a world: `trainer.worlds.host` runs the folder in a process of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trainer.task import Task
from trainer.worlds.colbench import loader as colbench
from trainer.worlds.colbench.oracle import PLAYERS as COLBENCH_PLAYERS
from trainer.worlds.declaration import read_declaration
from trainer.worlds.function import loader as function
from trainer.worlds.function.oracle import PLAYERS as FUNCTION_PLAYERS
from trainer.worlds.intention import loader as intention
from trainer.worlds.intention.oracle import PLAYERS as INTENTION_PLAYERS
from trainer.worlds.persuasion import loader as persuasion
from trainer.worlds.persuasion.oracle import PLAYERS as PERSUASION_PLAYERS
from trainer.worlds.player import PlayerFactory
from trainer.worlds.search import loader as search
from trainer.worlds.search.oracle import PLAYERS as SEARCH_PLAYERS
from trainer.worlds.tau import loader as tau
from trainer.worlds.tau.oracle import PLAYERS as TAU_PLAYERS
from trainer.worlds.tau2_airline import loader as tau2_airline
from trainer.worlds.tau2_airline.oracle import PLAYERS as TAU2_AIRLINE_PLAYERS
from trainer.worlds.tau2_mock import loader as tau2_mock
from trainer.worlds.tau2_mock.oracle import PLAYERS as TAU2_MOCK_PLAYERS
from trainer.worlds.tau2_retail import loader as tau2_retail
from trainer.worlds.tau2_retail.oracle import PLAYERS as TAU2_RETAIL_PLAYERS
from trainer.worlds.tau2_telecom import loader as tau2_telecom
from trainer.worlds.tau2_telecom.oracle import PLAYERS as TAU2_TELECOM_PLAYERS
from trainer.worlds.telepathy import loader as telepathy
from trainer.worlds.telepathy.oracle import PLAYERS as TELEPATHY_PLAYERS
from trainer.worlds.travel import loader as travel
from trainer.worlds.travel.oracle import PLAYERS as TRAVEL_PLAYERS
from trainer.worlds.turtle import loader as turtle
from trainer.worlds.turtle.oracle import PLAYERS as TURTLE_PLAYERS

SPLITS = ("train", "evaluation")


class Loader(Protocol):
    """The function `load` of a world's `loader.py`."""

    def __call__(self, split: str, source: Path | None = None) -> tuple[Task, ...]:
        """Return a split of our own tasks, or of the data set that lies at `source`."""
        ...


@dataclass(frozen=True)
class World:
    """Where a world lives, and what of it is never copied into a run."""

    folder: Path
    load: Loader
    players: Mapping[str, PlayerFactory]
    """Scripted players by name; `oracle` and `idle` are always there."""
    real_data: str = ""
    """The data set that `load` reads from a path; empty where there is none."""


WORLDS: Mapping[str, World] = {
    "travel": World(travel.FOLDER, travel.load, TRAVEL_PLAYERS, "TravelGym"),
    "intention": World(intention.FOLDER, intention.load, INTENTION_PLAYERS, "IN3"),
    "function": World(function.FOLDER, function.load, FUNCTION_PLAYERS, "FunctionGym"),
    "telepathy": World(telepathy.FOLDER, telepathy.load, TELEPATHY_PLAYERS, "TelepathyGym"),
    "turtle": World(turtle.FOLDER, turtle.load, TURTLE_PLAYERS, "TurtleGym"),
    "persuasion": World(persuasion.FOLDER, persuasion.load, PERSUASION_PLAYERS, "PersuadeGym"),
    "search": World(search.FOLDER, search.load, SEARCH_PLAYERS, "Bamboogle"),
    "tau": World(tau.FOLDER, tau.load, TAU_PLAYERS, "TauGym"),
    "colbench": World(colbench.FOLDER, colbench.load, COLBENCH_PLAYERS, "ColBench"),
    "tau2_telecom": World(
        tau2_telecom.FOLDER, tau2_telecom.load, TAU2_TELECOM_PLAYERS, "tau2-bench"
    ),
    "tau2_mock": World(tau2_mock.FOLDER, tau2_mock.load, TAU2_MOCK_PLAYERS, "tau2-bench"),
    "tau2_retail": World(tau2_retail.FOLDER, tau2_retail.load, TAU2_RETAIL_PLAYERS, "tau2-bench"),
    "tau2_airline": World(
        tau2_airline.FOLDER, tau2_airline.load, TAU2_AIRLINE_PLAYERS, "tau2-bench"
    ),
}


def world(name: str) -> World:
    """Return a world by its name.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in WORLDS:
        raise ValueError(f"no world named {name!r}; there are {', '.join(WORLDS)}")
    return WORLDS[name]


def judged(names: Iterable[str]) -> frozenset[str]:
    """Return those of some worlds that ask a judge where one is there."""
    known = {name: WORLDS[name].folder for name in names if name in WORLDS}
    return frozenset(n for n, folder in known.items() if read_declaration(folder).judge is not None)


def tasks(name: str, split: str, source: Path | str | None = None) -> tuple[Task, ...]:
    """Return the tasks of a world, in file order.

    Args:
        name: Name of the world.
        split: `train` or `evaluation`.
        source: None for our own tasks, else the path of a data set that the world can read.

    Raises:
        ValueError: if there is no such world or split, or the source cannot be read.
    """
    if split not in SPLITS:
        raise ValueError(f"no split named {split!r}; choose one of {', '.join(SPLITS)}")
    chosen = world(name)
    return chosen.load(split, None if source is None else Path(source))
