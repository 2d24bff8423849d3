"""The crew of a run: rank 0 runs it, the other ranks do what it orders, all at the same moment.

The run of rank 0 is the run of one process: it alone reads knobs, deals episodes and writes
records. Where it plays, learns or saves it sends an order first, so every rank plays its share
under the values that rank 0 found in force. A rank that fails ends the job; nobody goes on alone.
Where servers write the turns, rank 0 alone keeps them: which they are goes out with the order to
play, and what another rank saw of their death comes back with its part.
This module knows nothing about how a rank is made ready (`trainer.following`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gate.contract.sides import Side
from gate.guard import Condition
from trainer.policy.sglang_serving import Serving
from trainer.ppo.learner import Learner, LearnSettings, UpdateStats
from trainer.rollout.collect import Rollout, collect
from trainer.rollout.scene import Scene
from trainer.rollout.schedule import Assignment
from trainer.rollout.shares import merge, share
from trainer.trajectory import Trajectory
from trainer.users.spending import Meter, Spent


class Ranks(Protocol):
    """How the processes of a job pass values (see `trainer.ppo.deepspeed_ranks`)."""

    @property
    def rank(self) -> int:
        """This process, counted from 0."""
        ...

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def broadcast(self, value: Any = None) -> Any:
        """Return rank 0's value to every rank; the others pass nothing."""
        ...

    def gather(self, value: Any) -> list[Any]:
        """Return every rank's value, by rank."""
        ...


class KeepsServers(Protocol):
    """Rank 0's sampler, where it keeps servers that write for all ranks."""

    def serving(self) -> Serving:
        """Return which servers there are, and the weights in force."""
        ...

    def hear(self, lost: Mapping[str, str]) -> None:
        """Look at servers that another rank thinks gone."""
        ...


class UsesServers(Protocol):
    """Another rank's sampler, whose turns these servers write."""

    def take(self, serving: Serving) -> None:
        """Take on what rank 0 says of its servers."""
        ...

    def lost(self) -> Mapping[str, str]:
        """Return why each server is thought gone that was, by its address."""
        ...


@dataclass(frozen=True)
class Play:
    """Play your share of a step's episodes."""

    assignments: tuple[Assignment, ...]
    conditions: Mapping[Side, Condition]
    serving: Serving | None = None
    """The servers that write the turns; None where each rank's own model does."""


@dataclass(frozen=True)
class Learn:
    """Take part in an update."""

    trajectories: tuple[Trajectory, ...]
    settings: LearnSettings


@dataclass(frozen=True)
class Save:
    """Take part in gathering a checkpoint; rank 0 writes it."""

    directory: Path


@dataclass(frozen=True)
class End:
    """Go home."""

    ending: str


Order = Play | Learn | Save | End


@dataclass(frozen=True)
class _Part:
    """What one rank played, and what its users' endpoint was asked for it."""

    rollout: Rollout
    spent: Spent
    lost: Mapping[str, str]
    """Servers that it thinks gone, each with the reason."""


def _play_share(
    order: Play, scene: Scene, ranks: Ranks, meter: Meter, servers: UsesServers | None = None
) -> _Part:
    """Play this rank's episodes of a step."""
    mine = share(order.assignments, rank=ranks.rank, size=ranks.size)
    before = meter.total
    rollout = Rollout((), (), {}, {})
    if mine:
        rollout = collect(mine, scene, conditions=order.conditions)
    lost = {} if servers is None else servers.lost()
    return _Part(rollout, meter.total.minus(before), lost)


@dataclass(frozen=True)
class Leader:
    """Rank 0's side of a rollout: it stands where `rollout.collect` does."""

    ranks: Ranks
    meter: Meter
    """Counts what all ranks ask of the users' endpoint."""
    servers: KeepsServers | None = None
    """Keeps the servers that write for all ranks; None where each rank's own model writes."""

    def __call__(
        self,
        assignments: Sequence[Assignment],
        scene: Scene,
        *,
        conditions: Mapping[Side, Condition],
    ) -> Rollout:
        """Let every rank play its share and return all episodes, in the order dealt."""
        serving = None if self.servers is None else self.servers.serving()
        order = Play(tuple(assignments), dict(conditions), serving)
        self.ranks.broadcast(order)
        parts: list[_Part] = self.ranks.gather(_play_share(order, scene, self.ranks, self.meter))
        for rank, part in enumerate(parts[1:], start=1):
            self.meter.add(part.spent)
            if self.servers is not None:
                self.servers.hear({url: f"rank {rank}: {why}" for url, why in part.lost.items()})
        return merge(assignments, [part.rollout for part in parts])


class LeadingLearner:
    """Rank 0's side of a learner: orders first, then its own part; implements `Learner`."""

    def __init__(self, learner: Learner, ranks: Ranks) -> None:
        """Stand before a learner whose methods all ranks call together."""
        self._learner, self._ranks = learner, ranks

    @property
    def policy_version(self) -> int:
        """How many updates the policy has had."""
        return self._learner.policy_version

    def step(self, trajectories: Sequence[Trajectory], settings: LearnSettings) -> UpdateStats:
        """Run one update on all ranks (see `Learner.step`)."""
        self._ranks.broadcast(Learn(tuple(trajectories), settings))
        return self._learner.step(trajectories, settings)

    def save(self, directory: Path) -> None:
        """Write the state of all ranks into an empty folder."""
        self._ranks.broadcast(Save(directory))
        self._learner.save(directory)

    def load(self, directory: Path) -> None:
        """Refuse: a state is loaded when the ranks are made ready, by all of them.

        Raises:
            RuntimeError: always; rank 0 alone cannot put the state of the others in place.
        """
        raise RuntimeError(
            f"{directory}: ranks take a checkpoint on when they begin; resume the run on all ranks"
        )

    def fingerprint(self) -> str:
        """Return a sha256 over the actor's parameters."""
        return self._learner.fingerprint()

    def export(self, directory: Path) -> None:
        """Write the actor as a Hugging Face model directory."""
        self._learner.export(directory)


def follow_orders(
    ranks: Ranks,
    scene: Scene,
    learner: Learner,
    meter: Meter,
    *,
    servers: UsesServers | None = None,
) -> str:
    """Do what rank 0 orders until it ends the run; returns the ending's name.

    Args:
        ranks: This process's place in the job.
        scene: Who takes part in this rank's rollouts.
        learner: This rank's part of the learner.
        meter: Counts what this rank asks of the users' endpoint.
        servers: The scene's sampler, where rank 0's servers write for it.
    """
    while True:
        order: Order = ranks.broadcast()
        if isinstance(order, End):
            return order.ending
        if isinstance(order, Play):
            if servers is not None and order.serving is not None:
                servers.take(order.serving)
            # As rank 0 does at the end of a step: a rollout begins with nothing read before it.
            scene.sampler.sync(learner.policy_version)
            needed = {condition.world_revision for condition in order.conditions.values()}
            scene.places.keep(needed)
            ranks.gather(_play_share(order, scene, ranks, meter, servers))
        elif isinstance(order, Learn):
            try:
                learner.step(order.trajectories, order.settings)
            except FloatingPointError:
                # On every rank alike; rank 0 decides what becomes of the run.
                continue
        else:
            learner.save(order.directory)
