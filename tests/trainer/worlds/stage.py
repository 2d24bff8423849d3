"""What the tests of hosts share: hostile worlds by name, tasks for them, and who is still alive."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trainer.message import Action, Choice
from trainer.task import Task
from trainer.worlds.calls import Act, Host, Result, Start

HOSTILE = Path(__file__).parent / "hostile"


def folders(*worlds: str) -> dict[str, Path]:
    """The folders of hostile worlds, by name."""
    return {world: HOSTILE / world for world in worlds}


def task(world: str, **payload: Any) -> Task:
    """A task to play in a world."""
    return Task(f"{world}-1", world, "to get through", "good morning", payload=payload)


def act(content: str = "look") -> Act:
    """A move."""
    return Act(Action(Choice.SEARCH, content))


def begin(host: Host, *worlds: str, settings: Mapping[str, Any] | None = None) -> dict[str, Result]:
    """Open an episode of each world under the world's name, and start them all."""
    for world in worlds:
        host.open(world, task(world), settings=settings or {}, seed=1)
    return host.call({world: Start() for world in worlds}, deadline_s=30.0)


def alive(folder: Path) -> list[int]:
    """Ids of the processes, zombies left out, that serve a world's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except (NotADirectoryError, FileNotFoundError, ProcessLookupError):
            continue
        if entry.name.isdigit() and str(folder.resolve()).encode() in command:
            found.append(int(entry.name))
    return found


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """True as soon as a condition holds, False if it does not in time."""
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.01)
    return True
