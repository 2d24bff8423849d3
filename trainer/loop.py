"""The training loop: one step of PPO under the knobs in force, and what a run does between steps.

It reads like the paper: reconcile, roll out, learn, record. Everything it touches is passed in
as a `Run`; it knows nothing about how a run is launched or resumed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from gate.contract import files
from gate.contract.knobs import Knobs
from gate.contract.paths import RunPaths
from gate.contract.records import StepRecord
from gate.contract.sides import Side
from gate.guard import Condition, KnobStatus
from trainer import checkpoint, planted, runlog, telling
from trainer.checkpoint import Snapshot
from trainer.episode import Episode, Outcome
from trainer.live import LiveKnobs
from trainer.policy.sampler import SamplerFault
from trainer.ppo.learner import Learner, LearnSettings, UpdateStats
from trainer.recipe import RunConfig
from trainer.rollout import sides
from trainer.rollout.collect import Rollout, collect
from trainer.rollout.scene import Scene
from trainer.rollout.schedule import Assignment, TaskCursor, deal
from trainer.runlog import RunLog
from trainer.summary import step_record
from trainer.task import Task
from trainer.telling import Told
from trainer.users.spending import Meter

HISTORY_STEPS = 120
"""Steps whose anchors the difficulty rule may look back on: it wants twenty that had any."""
DISK_RETRY_S = 1.0

Result = TypeVar("Result")


class Ending(StrEnum):
    """How a training process ended."""

    FINISHED = "finished"
    STOPPED = "stopped"
    """Somebody asked for it: a signal, or a lowered `agent.total_steps`."""
    FAILED = "failed"
    """The update was not finite, or nothing could be saved; the last good state is on disk."""

    @property
    def exit_code(self) -> int:
        """What a command that trained ends with: 1 for a failed run, otherwise 0."""
        return int(self is Ending.FAILED)


@dataclass
class Run:
    """A live run: everything a step needs, and the one state that steps replace."""

    config: RunConfig
    paths: RunPaths
    live: LiveKnobs
    scene: Scene
    learner: Learner
    tasks: Mapping[str, tuple[Task, ...]]
    log: RunLog
    snapshot: Snapshot
    checkpoint_parts: Mapping[str, Callable[[Any], None]]
    """Beside the learner, what a checkpoint holds, such as the tokenizer."""
    collect: Callable[..., Rollout] = collect
    """Plays the episodes of a step: this process alone, or all ranks of the job."""
    watcher: Callable[[StepRecord, KnobStatus], None] = lambda record, status: None
    """Told about every step: progress on a terminal, trackers."""
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    saved_step: int | None = None
    """Step of the newest whole checkpoint; None before the first."""
    stop_asked: Callable[[], bool] = lambda: False
    meter: Meter | None = None
    """Counts what an endpoint that plays the user is asked; None without one."""
    last_status: KnobStatus | None = None

    @property
    def total_steps(self) -> int:
        """The step at which the run ends, as in force."""
        live = self.live.current.get("agent.total_steps")
        return self.config.total_steps if live is None else int(live)

    @property
    def has_spent_its_tokens(self) -> bool:
        """Whether the policy has written as many tokens as the recipe grants."""
        most = self.config.max_action_tokens
        return most is not None and self.snapshot.action_tokens >= most

    @property
    def is_over(self) -> bool:
        """Whether no further step is to be trained."""
        return self.snapshot.step >= self.total_steps or self.has_spent_its_tokens


def train(run: Run) -> Ending:
    """Train until the last step; every way out leaves a checkpoint or the last good one."""
    limit = None
    while not run.stop_asked():
        # The end is a knob too: the files are looked at before it is believed.
        status = reconcile(run, run.snapshot.step + 1)
        if run.meter is not None and (spent := run.meter.exhausted()) is not None:
            save(run)
            return close(run, Ending.STOPPED, f"users.endpoint: {spent}")
        # Another revision may have taken back what broke everything.
        if limit is not None and status.revision == run.snapshot.revision:
            save(run)
            reason = telling.too_many_faults(run.snapshot.faults_in_a_row, limit)
            return close(run, Ending.FAILED, reason)
        if run.is_over:
            break
        try:
            run.snapshot = train_step(run, status)
        except FloatingPointError as error:
            event(run, "update_failed", run.snapshot.step + 1, reason=str(error))
            return close(run, Ending.FAILED, str(error))
        except SamplerFault as error:
            append(run, run.snapshot.step + 1, _incidents(run))
            return close(run, Ending.FAILED, str(error))
        allowed = int(status.knobs.get("environment.max_consecutive_faults"))
        limit = allowed if run.snapshot.faults_in_a_row >= allowed else None
        if run.snapshot.step % run.config.checkpoint.every == 0:
            save(run)
    save(run)
    shortened = run.snapshot.step < run.config.total_steps and not run.has_spent_its_tokens
    return close(run, Ending.STOPPED if shortened else Ending.FINISHED)


def train_step(run: Run, status: KnobStatus) -> Snapshot:
    """One step of PPO under the knobs in force; returns the state after it."""
    began, before, step = run.clock(), run.snapshot, run.snapshot.step + 1
    playing = sides.conditions(status, anchor=run.live.condition(0))
    assignments, cursor = deal_step(run, step, status, playing)
    tell(run, stage="rollout")
    # A new revision of the worlds means new workers, here and nowhere else.
    run.scene.places.keep({condition.world_revision for condition in playing.values()})
    spent = run.meter.total if run.meter else None
    rollout = run.collect(assignments, run.scene, conditions=playing)
    tell(run, stage="learn", **_spent_so_far(run.meter))
    spoke = run.learner.policy_version
    stats = improve(run, rollout, status.knobs)
    run.scene.sampler.sync(run.learner.policy_version)
    record = step_record(
        step,
        status,
        rollout,
        stats,
        conditions=playing,
        policy_version=spoke,
        params_digest=run.learner.fingerprint(),
        step_s=run.clock() - began,
        now=run.now(),
        endpoint=run.meter.told(run.meter.total.minus(spent)) if run.meter and spent else None,
    )
    write(run, record, rollout, assignments, status)
    anchors = (*before.anchor_success, record.anchor_success)[-HISTORY_STEPS:]
    faults = count_faults(before.faults_in_a_row, rollout.episodes)
    tokens = before.action_tokens + record.action_tokens
    return Snapshot(step, status.revision, cursor, anchors, faults, tokens)


def _spent_so_far(meter: Meter | None) -> dict[str, Any]:
    """Return the field of `status.json` that tells what the user's endpoint cost."""
    return {} if meter is None else {"endpoint": meter.told(meter.total)}


def reconcile(run: Run, step: int) -> KnobStatus:
    """Return what is in force in a step: as recorded if it is replayed, else as on disk."""
    logged = run.log.logged(step)
    if logged is not None:
        status = run.live.replay(logged)
    else:
        plant(run, step)
        status = run.live.reconcile(
            step, success_history=run.snapshot.anchor_success, now=run.now()
        )
    tell(
        run,
        phase="training",
        stage="knobs" if logged is None else "replay",
        step=max(run.snapshot.step, run.log.last_step),
        reason=None,
        total_steps=run.total_steps,
        **telling.in_force(status),
    )
    if logged is None:
        was = (run.log.logged(step - 1) or {}).get("world_revision", 0)
        append(run, step, telling.changes(status, run.last_status, was))
    run.last_status = status
    return status


def plant(run: Run, step: int) -> None:
    """Bring the fault that the recipe planned for a step into force, if there is one."""
    told: list[str] = []
    worlds = tuple(run.config.worlds)
    with_room(
        run,
        lambda: planted.due(
            run.config.plant, run.paths, worlds=worlds, step=step, now=run.now(), told=told.append
        ),
    )
    append(run, step, [Told("fault_planted", {"said": said}) for said in told])


def deal_step(
    run: Run, step: int, status: KnobStatus, playing: Mapping[Side, Condition]
) -> tuple[tuple[Assignment, ...], TaskCursor]:
    """Return the episodes of a step, each group on a side and by the mix of that side."""
    rollout = run.config.rollout
    drawn = sides.draw(
        rollout.dialogues_per_step // rollout.group_size,
        step=step,
        seed=run.config.seed,
        anchor_share=rollout.anchor_share,
        new_share=status.test.new_share if status.test else None,
    )
    usual = {world: setting.weight for world, setting in run.config.worlds.items()}
    return deal(
        run.tasks,
        run.snapshot.cursor,
        step=step,
        group_size=rollout.group_size,
        sides=drawn,
        mixes=sides.mixes(playing, usual),
        seed=run.config.seed,
    )


def improve(run: Run, rollout: Rollout, knobs: Knobs) -> UpdateStats | None:
    """Learn from the finished episodes; None when there is none."""
    if not rollout.trajectories:
        return None
    agent = knobs.file("agent")
    names = LearnSettings.__dataclass_fields__
    settings = LearnSettings(**{name: agent[name] for name in names if name in agent})
    return run.learner.step(rollout.trajectories, settings)


def write(
    run: Run,
    record: StepRecord,
    rollout: Rollout,
    assignments: tuple[Assignment, ...],
    status: KnobStatus,
) -> None:
    """Put a step on file, or compare a replayed one with what is on file."""
    replayed = run.log.logged(record.step) is not None
    episodes = [
        runlog.episode_record(
            episode,
            assignment,
            step=record.step,
            policy_version=record.policy_version,
            num_tokens=rollout.num_tokens[episode.id],
        )
        for episode, assignment in zip(rollout.episodes, assignments, strict=True)
    ]
    different = with_room(run, lambda: run.log.step(record, episodes))
    if different:
        event(run, "resume_difference", record.step, fields=different, winner="replay")
    sampler, rewards = run.scene.sampler, run.log.rewards(telling.CONSTANT_STEPS, upto=record.step)
    health = telling.health(record, rewards, sampler.health())
    append(run, record.step, _incidents(run))
    if not replayed:
        append(run, record.step, telling.episodes(record, rollout))
        append(run, record.step, telling.constant_reward(record, health))
    newest = max(record.step, run.log.last_step)
    tell(run, stage="recorded", step=newest, health=health)
    run.watcher(record, status)


def _incidents(run: Run) -> list[Told]:
    return [Told(*incident) for incident in run.scene.sampler.incidents()]


def count_faults(before: int, episodes: Sequence[Episode]) -> int:
    """Return how many episodes up to the newest were quarantined without a break."""
    count = before
    for episode in episodes:
        count = count + 1 if episode.stop.outcome is Outcome.QUARANTINED else 0
    return count


def save(run: Run) -> None:
    """Write a checkpoint, unless the newest is of this very step, and forget the oldest."""
    step = run.snapshot.step
    if run.saved_step == step:
        return
    tell(run, stage="checkpoint")
    parts = {"learner": run.learner.save, **run.checkpoint_parts}
    directory = run.paths.checkpoint(step)
    with_room(run, lambda: checkpoint.save(directory, run.snapshot, parts))
    run.saved_step = step
    checkpoint.prune(run.paths.checkpoints, run.config.checkpoint.keep)
    event(run, "checkpoint", step, directory=directory.name)


def event(run: Run, kind: str, step: int, **detail: Any) -> None:
    """Append an event; on a full disk, when there is room."""
    with_room(run, lambda: run.log.event(kind, step, **detail))


def append(run: Run, step: int, told: Iterable[Told]) -> None:
    """Append the events of a step."""
    for one in told:
        event(run, one.kind, step, **one.detail)


def tell(run: Run, **fields: Any) -> None:
    """Replace the status on file; on a full disk, when there is room."""
    with_room(run, lambda: run.log.status(**fields))


def with_room(run: Run, action: Callable[[], Result]) -> Result:
    """Do something that writes; on a full disk wait for room, or stop, as configured.

    Raises:
        files.DiskFull: if `agent.on_disk_full` is `stop`, or somebody asked the run to stop.
    """
    paused = False
    while True:
        try:
            result = action()
            break
        except files.DiskFull as error:
            if run.live.current.get("agent.on_disk_full") == "stop" or run.stop_asked():
                raise
            if not paused:
                print(f"paused: {error}", flush=True)
                # The status is small and may still fit; where it does not, the old one stays.
                with contextlib.suppress(files.DiskFull):
                    run.log.status(phase="paused", reason=str(error))
            paused = True
            run.sleep(DISK_RETRY_S)
    if paused:
        event(run, "disk_full", run.snapshot.step, action="waited until there was room")
        tell(run, phase="training", reason=None)
    return result


def close(run: Run, ending: Ending, reason: str | None = None) -> Ending:
    """Put the end of the run on file."""
    event(run, "run_finished", run.snapshot.step, ending=ending.value, reason=reason)
    tell(run, phase=ending.value, stage="done", reason=reason)
    return ending
