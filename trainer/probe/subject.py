"""One world under probe: its two versions, the tasks drawn from it, and episodes played on demand.

Worlds run in processes of their own; players, user engine, rewards and the verifier that judges
the recorded turns again are the checkout's. An episode is played once and shared by the checks.
What the episodes show is not judged here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from trainer import seeds
from trainer.episode import Episode, Turn
from trainer.probe.budget import Budget
from trainer.probe.hosted import HostedEnv
from trainer.rollout.reward import RewardScheme
from trainer.rollout.scripted import play, world_seed
from trainer.task import Task
from trainer.users.rules import RuleSet
from trainer.users.seam import UserEngine
from trainer.worlds.calls import Host
from trainer.worlds.catalog import World
from trainer.worlds.player import PlayerFactory
from trainer.worlds.seam import Verdict


@dataclass(frozen=True)
class Version:
    """One side of a change, as one world has it."""

    label: str
    """`new` or `old`."""
    folder: Path
    host: Host
    user: UserEngine
    rules: RuleSet
    user_settings: Mapping[str, Any]
    """User knobs resolved for the world, by their names without `user.`."""
    world_settings: Mapping[str, Any]
    """What the world is made with, as in a rollout."""
    scheme: RewardScheme
    call_deadline_s: float

    @property
    def max_steps(self) -> int:
        """Agent turns that an episode may take."""
        return int(self.world_settings["max_steps"])


class Played(NamedTuple):
    """One scripted episode, and what the checkout's verifier says of its turns."""

    episode: Episode
    pinned: Verdict

    @property
    def solved(self) -> bool:
        """True when the checkout's verifier finds full success in the turns."""
        return self.pinned.success >= 1.0 - SLACK


SLACK = 1e-6
"""Sums of rewards and successes are compared with this much tolerance."""


@dataclass
class Subject:
    """One world under probe."""

    name: str
    world: World
    pinned: ModuleType
    """The checkout's code of the world, trusted, for its verifier."""
    tasks: tuple[Task, ...]
    """The tasks that are tried."""
    all_tasks: tuple[Task, ...]
    """Every task that the run may draw."""
    new: Version
    old: Version | None
    seed: int
    budget: Budget
    _played: dict[tuple[str, str, str], Played] = field(default_factory=dict)
    _serial: int = 0

    def play(self, version: Version, name: str, make: PlayerFactory, task: Task) -> Played:
        """Return the episode of a player, played now or before.

        Args:
            version: The side to play on.
            name: Tells the player from others.
            make: Makes the player.
            task: A task of the world.

        Raises:
            OutOfTime: if the check in progress has no time left.
            WorldFaulted: if the world failed.
        """
        key = (version.label, name, task.id)
        if key not in self._played:
            self._played[key] = self.play_afresh(version, make, task)
        return self._played[key]

    def play_afresh(
        self,
        version: Version,
        make: PlayerFactory,
        task: Task,
        *,
        host: Host | None = None,
        max_steps: int | None = None,
    ) -> Played:
        """Play an episode that no other check shares (see `play`).

        Args:
            version: The side to play on.
            make: Makes the player.
            task: A task of the world.
            host: Another host of the same folder.
            max_steps: Another limit than the one in force.
        """
        self.budget.ask()
        settings = dict(version.world_settings)
        if max_steps is not None:
            settings["max_steps"] = max_steps
        self._serial += 1
        worlds, key = host or version.host, f"{self._serial}"
        seed = self.episode_seed(task)
        worlds.open(key, task, settings=settings, seed=world_seed(seed))
        try:
            episode = play(
                task,
                make(task, settings=settings, seed=seed),
                env=HostedEnv(worlds, key, self._call_deadline_s(version)),
                user=version.user,
                user_settings=version.user_settings,
                max_steps=int(settings["max_steps"]),
                seed=seed,
                scheme=version.scheme,
            )
        finally:
            worlds.close([key])
        return Played(episode, self.judge(task, episode.turns, settings))

    def judge(
        self, task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
    ) -> Verdict:
        """Return what the checkout's verifier says of recorded turns.

        Args:
            task: The task that was played.
            turns: The recorded conversation.
            settings: What the world was made with; None for the candidate's.
        """
        made_with = self.new.world_settings if settings is None else settings
        return self.pinned.verifier.rejudge(task, tuple(turns), made_with)

    def episode_seed(self, task: Task) -> int:
        """Return the seed of a task's episodes, the same for every player and side."""
        return seeds.derive(self.seed, "probe", self.name, task.id)

    def _call_deadline_s(self, version: Version) -> float:
        return max(0.05, min(version.call_deadline_s, self.budget.left_s))
