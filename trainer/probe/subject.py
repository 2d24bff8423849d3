"""One world under probe: its two versions, the tasks drawn from it, and episodes played on demand.

Worlds run in processes of their own; players, user engine, rewards and the verifier that judges
the recorded turns again are the checkout's. An episode is played once and shared by the checks.
What the episodes show is not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from trainer import run_folder, seeds
from trainer.episode import Episode, Turn
from trainer.probe import lockstep
from trainer.probe.budget import Budget
from trainer.probe.faulted import WorldFaulted, raise_fault
from trainer.probe.lockstep import Ground, Part
from trainer.probe.request import FalseVerdict
from trainer.probe.stored import Stored
from trainer.rollout.reward import RewardScheme
from trainer.task import Task
from trainer.users.rules import RuleSet
from trainer.users.seam import UserEngine
from trainer.worlds.calls import Host
from trainer.worlds.catalog import World
from trainer.worlds.loading import verifier_of
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


MOST_FEW = 12
"""Tasks on which the players are tried that do not solve them."""
SLACK = 1e-6
"""Sums of rewards and successes are compared with this much tolerance."""


@dataclass(frozen=True)
class Played:
    """One scripted episode, and what the checkout's verifier says of its turns."""

    episode: Episode
    judge: Callable[[], Verdict]
    """Judges the turns; asked only where something depends on it, since that may run code."""

    @property
    def claimed(self) -> float:
        """The success in [0, 1] that the candidate's world reported."""
        return self.episode.success or 0.0

    @cached_property
    def pinned(self) -> float:
        """The success in [0, 1] that the checkout's verifier finds; 0 where nothing was claimed."""
        if self.claimed <= SLACK:
            return 0.0
        return self.judge().success

    @property
    def solved(self) -> bool:
        """True when both call it a full success."""
        return min(self.claimed, self.pinned) >= 1.0 - SLACK


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
    stored: tuple[Stored, ...] = ()
    """Finished episodes of this world that the run has stored, the newest first."""
    cited: tuple[FalseVerdict, ...] = ()
    """Stored verdicts of this world that the proposal calls false."""
    interviews: dict[str, list[Any]] = field(default_factory=dict)
    """What users said when they were asked everything, by version (`trainer.probe.interview`)."""
    _own_files: dict[str, bool] = field(default_factory=dict)
    _broken: dict[str, WorldFaulted] = field(default_factory=dict)
    _played: dict[tuple[str, str, str], Played] = field(default_factory=dict)
    _serial: int = 0

    @property
    def few(self) -> tuple[Task, ...]:
        """Some of the tasks, for players of which there are many."""
        most = min(MOST_FEW, max(2, len(self.tasks) // 2))
        return self.tasks[:: -(-len(self.tasks) // most)] if self.tasks else ()

    def play(
        self,
        version: Version,
        name: str,
        make: PlayerFactory,
        task: Task,
        *,
        among: Sequence[Task] | None = None,
    ) -> Played:
        """Return the episode of a player, played now, with those of other tasks, or before.

        Args:
            version: The side to play on.
            name: Tells the player from others.
            make: Makes the player.
            task: One of the tasks under probe.
            among: The tasks that are played along with it; None for all.

        Raises:
            OutOfTime: if the check in progress has no time left.
            WorldFaulted: if the world failed.
        """
        if (version.label, name, task.id) not in self._played:
            self.rehearse(version, {name: make}, among=among)
        return self._played[version.label, name, task.id]

    def rehearse(
        self,
        version: Version,
        players: Mapping[str, PlayerFactory],
        *,
        among: Sequence[Task] | None = None,
    ) -> None:
        """Play what several players have not played yet, all at once (see `play`)."""
        missing = [
            (name, make, task)
            for name, make in players.items()
            for task in (self.tasks if among is None else among)
            if (version.label, name, task.id) not in self._played
        ]
        played = self._play(version, [(make, task) for _, make, task in missing])
        for (name, _, task), one in zip(missing, played, strict=True):
            self._played[version.label, name, task.id] = one

    def play_all(
        self,
        version: Version,
        make: PlayerFactory,
        tasks: Sequence[Task] | None = None,
        *,
        host: Host | None = None,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> list[Played]:
        """Play a player's episodes afresh, all at once (see `play`).

        Args:
            version: The side to play on.
            make: Makes the player.
            tasks: The tasks, in order; None for those under probe.
            host: Another host of the same world.
            settings: By task id, what the world is made with where not by the version's own.
        """
        cast = [(make, task) for task in (self.tasks if tasks is None else tasks)]
        return self._play(version, cast, host=host, settings=settings)

    def _play(
        self,
        version: Version,
        cast: Sequence[tuple[PlayerFactory, Task]],
        *,
        host: Host | None = None,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> list[Played]:
        self.ready(version)
        parts = []
        for make, task in cast:
            made_with = (settings or {}).get(task.id, version.world_settings)
            seed = self.episode_seed(task)
            player = make(task, settings=made_with, seed=seed)
            parts.append(Part(self.next_key(version), task, player, made_with, seed))
        ground = Ground(
            host=host or version.host,
            user=version.user,
            user_settings=version.user_settings,
            scheme=version.scheme,
            deadline_s=self.call_deadline_s(version),
            before_each=self.budget.ask,
        )
        episodes = [replace(one, id=one.task_id) for one in lockstep.play(parts, ground)]
        try:
            for episode in episodes:
                raise_fault(episode, version.label)
        except WorldFaulted as error:
            self._broken.setdefault(version.label, error)
            raise
        return [
            Played(episode, partial(self.judge, part.task, episode.turns, part.settings))
            for part, episode in zip(parts, episodes, strict=True)
        ]

    def ready(self, version: Version) -> None:
        """Go on if there is time, and if the version has not failed before.

        Raises:
            OutOfTime: if the check in progress has no time left.
            WorldFaulted: if the version has failed before.
        """
        self.budget.ask()
        if version.label in self._broken:
            raise self._broken[version.label]

    def next_key(self, version: Version) -> str:
        """Return a name for an episode that no other one has."""
        self._serial += 1
        return f"{version.label}-{self._serial}"

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
        return verifier_of(self.pinned).rejudge(task, tuple(turns), made_with)

    def episode_seed(self, task: Task) -> int:
        """Return the seed of a task's episodes, the same for every player and side."""
        return seeds.derive(self.seed, "probe", self.name, task.id)

    def call_deadline_s(self, version: Version) -> float:
        """Return the seconds that one call into a version's world may take."""
        return max(0.1, min(version.call_deadline_s, self.budget.longest_call_s))

    def has_own_files(self, version: Version) -> bool:
        """True when a version's files are not those of the checkout, so its code is no more known.

        Where they are, only knobs can differ, and what depends on code alone needs no check.
        """
        if version.label not in self._own_files:
            self._own_files[version.label] = any(
                path.read_bytes() != _content(self.world.folder / path.relative_to(version.folder))
                for path in sorted(version.folder.rglob("*"))
                if path.is_file() and "__pycache__" not in path.parts
            )
        return self._own_files[version.label]

    @cached_property
    def same_files(self) -> bool:
        """True when both sides have the same files, so only knobs differ."""
        old = self.old
        return old is not None and run_folder.folder_digest(old.folder) == run_folder.folder_digest(
            self.new.folder
        )

    @property
    def unchanged(self) -> bool:
        """True when nothing that an episode could tell apart differs between the sides."""
        old, new = self.old, self.new
        return (
            old is not None
            and self.same_files
            and dict(old.user_settings) == dict(new.user_settings)
            and dict(old.world_settings) == dict(new.world_settings)
        )


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
