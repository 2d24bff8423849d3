"""Episodes of trusted worlds in this process: for benchmarks, oracles and conformance suites.

The same calls, the same checks of every answer and the same bytes in between as `WorldHost`, and
none of its protection: a world that hangs here hangs the caller. Never for code that a model
may have written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from trainer.episode import StopReason
from trainer.task import Task
from trainer.worlds import wire
from trainer.worlds.answers import read_answer
from trainer.worlds.calls import JUDGE_SETTING, METHODS, Call, Fault, Result, fault
from trainer.worlds.loading import WorldLoadError, load_world
from trainer.worlds.served import ServedEpisode


class LocalHost:
    """Worlds without processes; see `trainer.worlds.calls.Host` for what each method promises."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        """Remember where the worlds are; nothing is loaded yet.

        Args:
            folders: The folder of each world, by the name that tasks give it.
        """
        self._folders = {world: folder.resolve() for world, folder in folders.items()}
        self._worlds: dict[str, ModuleType | Fault] = {}
        self._episodes: dict[str, ServedEpisode | Fault] = {}
        self._may_ask: set[str] = set()
        """Episodes that may answer with questions to a judge."""

    def check(self, world: str) -> Fault | None:
        """Load a world now; return why it cannot be used, or None when it can."""
        loaded = self._load(world)
        return loaded if isinstance(loaded, Fault) else None

    def open(self, key: str, task: Task, *, settings: Mapping[str, Any], seed: int) -> None:
        """Begin one episode; what goes wrong is told by its first call."""
        if key in self._episodes:
            raise ValueError(f"episode {key!r} is open already; close it, or use another key")
        begin = wire.begin_request(task, settings, seed)
        world = self._load(task.world)
        if isinstance(world, Fault):
            self._episodes[key] = world
            return
        episode = ServedEpisode(world, self._folders[task.world])
        episode.begin(json.loads(begin))
        self._episodes[key] = episode
        if settings.get(JUDGE_SETTING):
            self._may_ask.add(key)

    def call(self, calls: Mapping[str, Call], *, deadline_s: float) -> dict[str, Result]:
        """Ask episodes one after the other; the deadline is not enforced in here."""
        for key in calls:
            if key not in self._episodes:
                raise ValueError(f"episode {key!r} is not open; open it before calling it")
        return {key: self._answer(key, call) for key, call in calls.items()}

    def close(self, keys: Iterable[str]) -> None:
        """Forget those episodes; unknown keys are passed over."""
        for key in keys:
            self._episodes.pop(key, None)
            self._may_ask.discard(key)

    def replace(self, folders: Mapping[str, Path]) -> None:
        """Go over to other folders, as for a new revision.

        Raises:
            ValueError: if an episode is open.
        """
        if self._episodes:
            raise ValueError(
                f"{len(self._episodes)} episodes are open; close them before a replace"
            )
        self._folders = {world: folder.resolve() for world, folder in folders.items()}
        self._worlds.clear()

    def shutdown(self) -> None:
        """Forget all episodes and worlds; may be repeated."""
        self._episodes.clear()
        self._worlds.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def _load(self, world: str) -> ModuleType | Fault:
        if world not in self._folders:
            known = ", ".join(sorted(self._folders)) or "none"
            raise ValueError(f"no folder for the world {world!r}; the worlds here are: {known}")
        if world not in self._worlds:
            try:
                self._worlds[world] = load_world(self._folders[world])
            except WorldLoadError as error:
                self._worlds[world] = fault(StopReason.WORLD_ERROR, f"{world}: {error}")
        return self._worlds[world]

    def _answer(self, key: str, call: Call) -> Result:
        episode = self._episodes[key]
        if isinstance(episode, Fault):
            return episode
        content = episode.answer(json.loads(wire.call_request(call)))
        result = read_answer(METHODS[type(call)], content, may_ask=key in self._may_ask)
        if isinstance(result, Fault):
            self._episodes[key] = result
        return result
