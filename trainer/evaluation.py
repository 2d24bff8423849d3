"""Pinned evaluation: the same test whatever training did to knobs, worlds and users.

Episodes are played in revision 0 of the world, under the default knobs, with an evaluation user
and limits of their own, on tasks that training cannot name. Results never enter a run directory.
This module knows nothing about training.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from gate.contract import files, knobs
from gate.contract.knobs import Knobs
from gate.contract.sides import Side
from gate.guard import Condition
from trainer import runlog, seeds
from trainer.episode import Episode, Outcome
from trainer.errors import Unusable
from trainer.evaluation_judge import RULES, AskedJudge
from trainer.evaluation_user import PINNED, AskedUser
from trainer.official import OfficialResult
from trainer.rollout.collect import Rollout, collect
from trainer.rollout.scene import Scene
from trainer.rollout.schedule import Assignment
from trainer.task import Task
from trainer.trials import Reliability, reliability
from trainer.worlds import catalog
from trainer.worlds.declaration import read_declaration

ROOT_VARIABLE = "EAU_EVAL_ROOT"
BATCH = 32
EVALUATION_SEED = 20_260_101
"""Seeds of evaluation never depend on the run's."""

PINNED_KNOBS: Mapping[str, Mapping[str, Any]] = {
    "user": {"user_strategy_mix": 1.0},
    "environment": {"max_steps": 16},
}
"""The evaluation user is the symbolic one; everything else is the declared default."""
ASKED_KNOBS: Mapping[str, Mapping[str, Any]] = {
    "user": {"user_strategy_mix": 0.0, "llm_temperature": 0.0}
}
"""What differs where a served model was asked to play the user."""


class EvaluationError(Unusable):
    """An evaluation that cannot be run; the message says what to change."""


class Interval(NamedTuple):
    """A 95% interval of a share."""

    low: float
    high: float


@dataclass(frozen=True)
class WorldResult:
    """What the episodes of one world amount to."""

    held_out: bool
    """True for a world that training never sees."""
    finished: int
    quarantined: int
    success: float | None
    """Mean of the verifier's verdicts over finished episodes."""
    interval: Interval
    """Wilson 95% interval of `success`; over episodes, so trials of a task count each."""
    reward: float | None
    metrics: Mapping[str, float]
    reliability: tuple[Reliability, ...]
    """Chance that all, and that any, of k trials of a task succeed."""


@dataclass(frozen=True)
class EvaluationResult:
    """What one evaluation measured, and under what."""

    policy: str
    policy_version: int
    world: str
    num_tasks: int
    trials: int
    """Episodes of each task."""
    finished: int
    quarantined: int
    success: float | None
    """Mean of the verifier's verdicts over finished episodes."""
    interval: Interval
    """Wilson 95% interval of `success`; over episodes, so trials of a task count each."""
    reward: float | None
    metrics: Mapping[str, float]
    agent_turns: float | None
    decoding: str
    knobs_digest: str
    world_digest: str
    tasks_digest: str
    by_world: Mapping[str, WorldResult] = field(default_factory=dict)
    """The same for each world apart: the fields above put the episodes of all in one heap."""
    official: Mapping[str, OfficialResult] = field(default_factory=dict)
    """By world: what the benchmark's own package says, where it was asked."""
    user: str = PINNED
    """Who played the user; a result of any other than the pinned one compares with its own kind."""
    endpoint: Mapping[str, float] = field(default_factory=dict)
    """What a served user cost, as in `steps.jsonl`."""
    judge: str = RULES
    """Who decided what worlds leave to a judge; a result with one compares with its own kind."""
    judge_endpoint: Mapping[str, float] = field(default_factory=dict)
    """What a judge cost."""

    @property
    def known_success(self) -> float:
        """Return `success`, for whoever compares it with another.

        Raises:
            EvaluationError: if no episode could be finished, which says nothing of the policy.
        """
        if self.success is None:
            raise EvaluationError(
                f"no episode of the evaluation of {self.policy} at version {self.policy_version} "
                f"could be finished, {self.quarantined} were quarantined; `eau evaluate` tells "
                "why: mend that, and run this again"
            )
        return self.success


def root() -> Path:
    """Return where evaluations are written: `EAU_EVAL_ROOT`, else the user's data directory.

    Raises:
        EvaluationError: if that place lies inside a run directory.
    """
    chosen = os.environ.get(ROOT_VARIABLE)
    base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    place = Path(chosen) if chosen else base / "eau" / "evaluations"
    for parent in (place.resolve(), *place.resolve().parents):
        if (parent / "run.yaml").is_file():
            raise EvaluationError(
                f"{place} lies inside the run {parent}; evaluation output never enters a run: "
                f"set {ROOT_VARIABLE} to another place"
            )
    return place


def pinned_knobs(worlds: Sequence[str], *, pinned: bool = True) -> Knobs:
    """Return the knobs of every evaluation: the declared defaults and the pinned values.

    Every world is played up to the turn limit that it declares.

    Args:
        worlds: Names of the worlds that are played.
        pinned: False where a served model was asked to play the user.
    """
    asked = {} if pinned else ASKED_KNOBS
    values = {
        name: {
            **knobs.defaults().values[name],
            **PINNED_KNOBS.get(name, {}),
            **asked.get(name, {}),
        }
        for name in knobs.FILES
    }
    limits = {
        world: read_declaration(catalog.world(world).folder).turn_limit
        for world in worlds
        if world in catalog.WORLDS
    }
    usual = PINNED_KNOBS["environment"]["max_steps"]
    values["environment"]["worlds"] = {
        world: {"max_steps": limit} for world, limit in limits.items() if limit != usual
    }
    return knobs.from_values(values, worlds=worlds)


def play(
    tasks: Sequence[Task], scene: Scene, *, num_trials: int, pinned: bool = True
) -> list[Episode]:
    """Play every task `num_trials` times under the knobs of `pinned_knobs`, in batches."""
    played_under = pinned_knobs(sorted({task.world for task in tasks}), pinned=pinned)
    dealt = [
        Assignment(
            episode_id=f"{trial:06d}-{index:03d}",
            task=task,
            group_id=f"g{index:03d}",
            rollout_index=trial,
            seed=seeds.derive(EVALUATION_SEED, "evaluation", task.id, trial),
        )
        for trial in range(num_trials)
        for index, task in enumerate(tasks)
    ]
    played: list[Episode] = []
    for first in range(0, len(dealt), BATCH):
        rollout: Rollout = collect(
            dealt[first : first + BATCH],
            scene,
            conditions={Side.IN_FORCE: Condition(played_under, revision=0, world_revision=0)},
        )
        played += rollout.episodes
    return played


def result(
    episodes: Sequence[Episode],
    tasks: Sequence[Task],
    *,
    policy: str,
    policy_version: int,
    num_trials: int,
    decoding: str,
    world_digest: str,
    held_out: Collection[str] = (),
    user: AskedUser | None = None,
    judge: AskedJudge | None = None,
) -> EvaluationResult:
    """Return what the episodes of all worlds amount to, together and apart."""
    worlds = sorted({task.world for task in tasks})
    whole = _world_result(episodes, trials=num_trials)
    return EvaluationResult(
        policy=policy,
        policy_version=policy_version,
        world=", ".join(worlds),
        num_tasks=len(tasks),
        trials=num_trials,
        finished=whole.finished,
        quarantined=whole.quarantined,
        success=whole.success,
        interval=whole.interval,
        reward=whole.reward,
        metrics=whole.metrics,
        agent_turns=_mean(
            [float(one.num_agent_turns) for one in episodes if one.stop.outcome is Outcome.FINISHED]
        ),
        decoding=decoding,
        knobs_digest=pinned_knobs(worlds, pinned=user is None).digest,
        world_digest=world_digest,
        tasks_digest=files.content_digest("".join(task.digest for task in tasks).encode()),
        by_world={
            world: _world_result(
                [one for one in episodes if one.world == world],
                trials=num_trials,
                held_out=world in held_out,
            )
            for world in worlds
        },
        user=user.label if user else PINNED,
        endpoint=user.meter.told(user.meter.total) if user else {},
        judge=judge.label if judge else RULES,
        judge_endpoint=judge.meter.told(judge.meter.total) if judge else {},
    )


def write(directory: Path, outcome: EvaluationResult, episodes: Sequence[Episode]) -> Path:
    """Write a result and its episodes into a new folder; returns the result's path."""
    directory.mkdir(parents=True)
    for episode in episodes:
        files.append_line(directory / "episodes.jsonl", runlog.episode_values(episode))
    path = directory / "result.json"
    files.write_whole(path, files.encode_line(asdict(outcome)) + b"\n")
    return path


def wilson(successes: float, n: int, *, z: float = 1.959964) -> Interval:
    """Return the Wilson score interval of a share.

    Args:
        successes: Sum of verdicts, in [0, n].
        n: How many there are; 0 gives the interval that knows nothing.
        z: Normal quantile; the default gives 95%.

    Source:
        Wilson 1927; for verdicts between 0 and 1 it is conservative.
    """
    if n == 0:
        return Interval(0.0, 1.0)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(round(max(0.0, centre - half), 6), round(min(1.0, centre + half), 6))


def _world_result(
    episodes: Sequence[Episode], *, trials: int, held_out: bool = False
) -> WorldResult:
    finished = [one for one in episodes if one.stop.outcome is Outcome.FINISHED]
    successes = [one.success for one in finished if one.success is not None]
    names = sorted({name for one in finished for name in one.metrics})
    return WorldResult(
        held_out=held_out,
        finished=len(finished),
        quarantined=sum(one.stop.outcome is Outcome.QUARANTINED for one in episodes),
        success=_mean(successes),
        interval=wilson(sum(successes), len(successes)),
        reward=_mean([one.total_reward for one in finished]),
        metrics={
            name: _mean([one.metrics[name] for one in finished if name in one.metrics]) or 0.0
            for name in names
        },
        reliability=reliability(episodes, trials=trials),
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 6) if values else None
