"""A built-in world made ready for its scripted players: code, declaration, user and default knobs.

For looking at worlds and timing them, in this process; a training run plays through
`trainer.worlds.host`. Nothing here judges what is played.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from gate.contract import knobs
from trainer.episode import Episode
from trainer.rollout.scripted import play, world_seed
from trainer.task import Task
from trainer.users import rule_file
from trainer.users.symbolic import SymbolicUser
from trainer.worlds import catalog
from trainer.worlds.catalog import World
from trainer.worlds.declaration import WorldDeclaration, read_declaration
from trainer.worlds.loading import load_world


@dataclass(frozen=True)
class Stage:
    """One world with everything that plays in it."""

    world: World
    declaration: WorldDeclaration
    code: ModuleType
    user: SymbolicUser
    user_settings: Mapping[str, Any]

    def play(self, task: Task, player: str, *, seed: int) -> Episode:
        """Return an episode of one of the world's players under the default knobs.

        Args:
            task: A task of the world.
            player: Name of the player.
            seed: The episode's seed.
        """
        limit = self.declaration.turn_limit
        settings = {**self.declaration.settings, "max_steps": limit}
        return play(
            task,
            self.world.players[player](task, settings=settings, seed=seed),
            env=self.code.make(task, settings=settings, seed=world_seed(seed)),
            user=self.user,
            user_settings=self.user_settings,
            max_steps=limit,
            seed=seed,
        )


def stage(name: str) -> Stage:
    """Return a world of the catalog, ready to be played.

    Raises:
        ValueError: if there is no such world.
    """
    world = catalog.world(name)
    return Stage(
        world=world,
        declaration=read_declaration(world.folder),
        code=load_world(world.folder),
        user=SymbolicUser({name: rule_file.load(world.folder / rule_file.FILE_NAME)}),
        user_settings=knobs.defaults().file("user", name),
    )
