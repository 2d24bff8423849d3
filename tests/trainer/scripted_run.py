"""A live run whose policy, worlds, users and learner are scripted: six steps take no time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gate.contract.paths import RunPaths
from tests import live_run
from tests.trainer.rollout import cast
from tests.trainer.rollout.cast import ScriptedHost, ScriptedSampler, ScriptedUser
from trainer.checkpoint import Snapshot
from trainer.episode import StopReason, Voice
from trainer.live import LiveKnobs
from trainer.loop import Run
from trainer.ppo.learner import LearnSettings, UpdateStats
from trainer.recipe import CheckpointConfig, RunConfig
from trainer.rollout.config import RolloutConfig
from trainer.rollout.scene import Scene
from trainer.runlog import RunLog
from trainer.task import Task
from trainer.trajectory import Trajectory
from trainer.worlds.calls import Act, Fault
from trainer.worlds.seam import StepResult

CONFIG = RunConfig(
    "test",
    total_steps=6,
    rollout=RolloutConfig(dialogues_per_step=2, max_new_tokens=20, context_tokens=400),
    checkpoint=CheckpointConfig(every=2, keep=2, min_free_mb=0),
)


class CountingLearner:
    """Counts updates; fails in the one that it is told to fail in."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.policy_version = 0
        self.settings: list[LearnSettings] = []
        self._fails_at = fails_at

    def step(self, trajectories: Sequence[Trajectory], settings: LearnSettings) -> UpdateStats:
        """Learn nothing."""
        if self.policy_version + 1 == self._fails_at:
            raise FloatingPointError("policy_loss is nan")
        self.policy_version += 1
        self.settings.append(settings)
        return UpdateStats({"actor_lr": settings.actor_lr})

    def save(self, directory: Path) -> None:
        """Write the count."""
        (directory / "count").write_text(str(self.policy_version))

    def load(self, directory: Path) -> None:
        """Read the count."""
        self.policy_version = int((directory / "count").read_text())

    def fingerprint(self) -> str:
        """Return the count as a digest."""
        return f"{self.policy_version:064d}"

    def export(self, directory: Path) -> None:
        """Write nothing."""


class AnyScript(dict[str, list[str]]):
    """Every dialogue says the same."""

    def __missing__(self, key: str) -> list[str]:
        """Return the words of any dialogue."""
        return ["[search] a", "[finish]"]


class AnyHost(ScriptedHost):
    """Ends every episode with its second move; `broken` makes all first moves fail."""

    broken = False

    def _answer(self, key: str, call: Any) -> Any:
        if self.broken and isinstance(call, Act):
            return Fault(StopReason.WORLD_DIED, "killed")
        if isinstance(call, Act) and len(self.moves[key]) == 1:
            return StepResult("done", stop=StopReason.FAILED)
        return super()._answer(key, call)


def make(paths: RunPaths, **other: Any) -> Run:
    paths.episodes.mkdir(exist_ok=True)
    scene = Scene(
        sampler=ScriptedSampler(AnyScript(), policy_version=0),
        chat=cast.ByteChat(),
        places=cast.places(
            AnyHost(), {Voice.SYMBOLIC: ScriptedUser(), Voice.NOISY: ScriptedUser(Voice.NOISY)}
        ),
        other_voice=Voice.NOISY,
        config=CONFIG.rollout,
        prompt_styles={},
        temperature=1.0,
        clock=lambda: 0.0,
    )
    values: dict[str, Any] = {
        "config": CONFIG,
        "paths": paths,
        "live": LiveKnobs(paths, worlds=live_run.WORLDS),
        "scene": scene,
        "learner": CountingLearner(),
        "tasks": {"travel": tuple(Task(f"t{n}", "travel", "g", "o") for n in range(5))},
        "log": RunLog(paths, now=lambda: 0.0),
        "snapshot": Snapshot(),
        "checkpoint_parts": {},
        "clock": lambda: 0.0,
        "now": lambda: 0.0,
    }
    return Run(**{**values, **other})
