"""Rank 0 orders, the others do the same thing at the same time, and none acts on its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from tests.trainer.rollout.cast import ByteChat, ScriptedSampler
from trainer import preflight, recipe_file
from trainer.crew import End, Leader, LeadingLearner, follow_orders
from trainer.episode import Voice
from trainer.following import leading, require_first
from trainer.policy.sglang_serving import Serving
from trainer.ppo.deepspeed_options import (
    DeepSpeedOptions,
    launched_here,
    launched_size,
    option_faults,
)
from trainer.ppo.learner import LearnSettings, UpdateStats
from trainer.rollout.config import RolloutConfig
from trainer.rollout.places import Places
from trainer.rollout.scene import Scene
from trainer.run_folder import LaunchError
from trainer.trajectory import Trajectory
from trainer.users.spending import Meter

SETTINGS = LearnSettings(actor_lr=1e-4, critic_lr=1e-3)


@dataclass
class Line:
    """Two ranks joined by a queue; implements `Ranks`."""

    rank: int
    carried: queue.Queue[Any]
    size: int = 2

    def broadcast(self, value: Any = None) -> Any:
        """Pass rank 0's value on."""
        if self.rank == 0:
            self.carried.put(value)
            return value
        return self.carried.get(timeout=20)

    def gather(self, value: Any) -> list[Any]:
        """Refuse."""
        raise AssertionError("nothing is gathered here")


@dataclass
class Note:
    """A learner that notes what it is asked; its first update is not finite."""

    asked: list[Any] = field(default_factory=list)
    policy_version: int = 0

    def step(self, trajectories: Sequence[Trajectory], settings: LearnSettings) -> UpdateStats:
        """Note it."""
        self.asked.append(("step", tuple(trajectories), settings))
        if len(self.asked) == 1:
            raise FloatingPointError("policy_loss is nan")
        self.policy_version += 1
        return UpdateStats()

    def save(self, directory: Path) -> None:
        """Note it."""
        self.asked.append(("save", directory))

    def load(self, directory: Path) -> None:
        """Refuse."""
        raise AssertionError(directory)

    def fingerprint(self) -> str:
        """Return the version."""
        return f"{self.policy_version}"

    def export(self, directory: Path) -> None:
        """Refuse."""
        raise AssertionError(directory)


def test_both_ranks_do_the_same_and_part_at_the_end(tmp_path):
    line: queue.Queue[Any] = queue.Queue()
    mine, theirs, ended = Note(), Note(), []
    follower = threading.Thread(
        target=lambda: ended.append(
            follow_orders(Line(1, line), cast(Scene, None), theirs, Meter())
        )
    )
    follower.start()
    first = Line(0, line)
    learner = LeadingLearner(mine, first)
    with pytest.raises(FloatingPointError):
        learner.step([], SETTINGS)
    learner.step([], SETTINGS)
    learner.save(tmp_path)
    first.broadcast(End("finished"))
    follower.join(20)
    assert ended == ["finished"]
    assert theirs.asked == mine.asked
    assert theirs.policy_version == learner.policy_version == 1


@dataclass
class Gathering(Line):
    """Two ranks whose values come together too; rank 0 waits for the other's."""

    back: queue.Queue[Any] = field(default_factory=queue.Queue)

    def gather(self, value: Any) -> list[Any]:
        """Return both values to rank 0; the other one needs none."""
        if self.rank == 0:
            return [value, self.back.get(timeout=20)]
        self.back.put(value)
        return [None, value]


@dataclass
class Servers(ScriptedSampler):
    """Rank 0's servers and another rank's view of them, `KeepsServers` and `UsesServers`."""

    told: list[Any] = field(default_factory=list)

    def serving(self) -> Serving:
        """Name one server of version 0."""
        return Serving(("http://a:1",), "run-0", 0)

    def hear(self, lost: Mapping[str, str]) -> None:
        """Note it."""
        self.told.append(dict(lost))

    def take(self, serving: Serving) -> None:
        """Note it."""
        self.told.append(serving)

    def lost(self) -> Mapping[str, str]:
        """Tell of one."""
        return {"http://a:1": "it is gone"}


def scene_of(sampler: Servers) -> Scene:
    """Return a scene in which nobody plays."""
    return Scene(
        sampler=sampler,
        chat=ByteChat(),
        places=Places(lambda revision: pytest.fail(f"nobody plays at revision {revision}")),
        other_voice=Voice.NOISY,
        config=RolloutConfig(),
        prompt_styles={},
        temperature=1.0,
        clock=lambda: 0.0,
    )


def test_servers_go_out_with_the_order_to_play_and_their_death_comes_back():
    line, back, ended = queue.Queue[Any](), queue.Queue[Any](), []
    ours, theirs = Servers({}), Servers({})
    follower = threading.Thread(
        target=lambda: ended.append(
            follow_orders(
                Gathering(1, line, back=back), scene_of(theirs), Note(), Meter(), servers=theirs
            )
        )
    )
    follower.start()
    first = Gathering(0, line, back=back)
    Leader(first, Meter(), ours)([], scene_of(ours), conditions={})
    first.broadcast(End("finished"))
    follower.join(20)
    assert ended == ["finished"]
    assert theirs.told == [ours.serving()]
    assert ours.told == [{"http://a:1": "rank 1: it is gone"}]


def test_servers_that_other_machines_do_not_hear_are_refused(monkeypatch):
    config = recipe_file.load("sglang-deepspeed-cpu", [])
    told = " ".join(preflight.backend_faults(config))
    assert "sampler" not in told
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert "sampler" not in " ".join(preflight.backend_faults(config))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    told = " ".join(preflight.backend_faults(config))
    assert "2 of 4 ranks" in told and "name them in sampler.urls" in told
    joined = recipe_file.load("sglang-deepspeed-cpu", ["sampler.urls=[http://10.0.0.4:30000]"])
    assert "sampler" not in " ".join(preflight.backend_faults(joined))


def test_one_rank_needs_nobody_to_order():
    note = Note()
    assert leading(note, None) is note
    assert leading(note, Line(0, queue.Queue(), size=1)) is note


def test_a_checkpoint_is_taken_on_before_the_first_order_and_not_later(tmp_path):
    with pytest.raises(RuntimeError, match="when they begin"):
        LeadingLearner(Note(), Line(0, queue.Queue())).load(tmp_path)


def test_a_rank_that_is_not_the_first_runs_no_run(monkeypatch):
    config = recipe_file.load("demo-deepspeed", [])
    require_first(config)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(LaunchError, match="rank 1"):
        require_first(config)


def test_several_processes_of_a_learner_that_is_one_are_refused(monkeypatch):
    config = recipe_file.load("ppo", [])
    assert list(preflight.backend_faults(config)) == []
    monkeypatch.setenv("WORLD_SIZE", "4")
    (fault,) = preflight.backend_faults(config)
    assert "one process" in fault
    assert "4" in fault


def test_what_needs_a_sharded_optimizer_is_refused_without_one():
    told = " ".join(
        option_faults(DeepSpeedOptions(zero_stage=0, offload_optimizer=True, dtype="bfloat16"))
    )
    assert "deepspeed.offload_optimizer" in told
    assert "deepspeed.dtype" in told
    assert "deepspeed.bucket_elements" in " ".join(
        option_faults(DeepSpeedOptions(bucket_elements=0))
    )


def test_a_process_without_a_launcher_is_alone():
    assert launched_size({}) == 1
    assert launched_size({"WORLD_SIZE": "8"}) == 8
    assert launched_here({}) == 1
    assert launched_here({"WORLD_SIZE": "8"}) == 8
    assert launched_here({"WORLD_SIZE": "8", "LOCAL_SIZE": "4"}) == 4
