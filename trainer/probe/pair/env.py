"""Two episodes of one world in one process: the first is replayed, the second is handed over.

Runs in a worker process like any world, since it loads a copy of the world that lies beside it,
once and before any episode, as that world would be. What it leaves behind between episodes shows in
the second one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainer.task import Task
from trainer.worlds.loading import load_world
from trainer.worlds.seam import Env
from trainer.worlds.served import ServedEpisode

PAIR = "pair"
"""The setting that says what the episode before was."""

_FOLDER = Path(__file__).parent / "inner"
_WORLD = load_world(_FOLDER)


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> Env:
    """Return the inner world's `Env`, in a process in which it has played before."""
    pair = settings[PAIR]
    before = ServedEpisode(_WORLD, _FOLDER)
    before.begin(pair["begin"])
    for request in pair["requests"]:
        before.answer(request)
    own = {name: value for name, value in settings.items() if name != PAIR}
    return _WORLD.make(task, settings=own, seed=seed)
