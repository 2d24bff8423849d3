"""The training loop: one step of PPO under the knobs in force, and what a run does between steps.

It reads like the paper: reconcile, roll out, learn, record. Everything it touches is passed in
as a `Run`; it knows nothing about how a run is launched or resumed.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from gate.contract import files
from gate.contract.knobs import Knobs
from gate.contract.paths import RunPaths
from gate.contract.records import StepRecord
from gate.guard import KnobStatus
from trainer import checkpoint, runlog
from trainer.checkpoint import Snapshot
from trainer.episode import Episode, Outcome
from trainer.live import LiveKnobs
from trainer.ppo.learner import Learner, LearnSettings, UpdateStats
from trainer.recipe import RunConfig
from trainer.rollout.collect import Rollout, Scene, collect
from trainer.rollout.schedule import Assignment, deal
from trainer.runlog import RunLog
from trainer.task import Task

HISTORY_STEPS = 20
"""Steps of success that the difficulty rule looks back on."""
CONSTANT_STEPS = 10
"""Steps with one single reward value after which the run says so."""
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
    watcher: Callable[[StepRecord, KnobStatus], None] = lambda record, status: None
    """Told about every step: progress on a terminal, trackers."""
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    saved_step: int | None = None
    """Step of the newest whole checkpoint; None before the first."""
    stop_asked: Callable[[], bool] = lambda: False
    last_status: KnobStatus | None = None

    @property
    def total_steps(self) -> int:
        """The step at which the run ends, as in force."""
        live = self.live.current.get("agent.total_steps")
        return self.config.total_steps if live is None else int(live)


def train(run: Run) -> Ending:
    """Train until the last step; every way out leaves a checkpoint or the last good one."""
    while not run.stop_asked():
        # The end is a knob too: the files are looked at before it is believed.
        status = reconcile(run, run.snapshot.step + 1)
        if run.snapshot.step >= run.total_steps:
            break
        try:
            run.snapshot = train_step(run, status)
        except FloatingPointError as error:
            event(run, "update_failed", run.snapshot.step + 1, reason=str(error))
            return close(run, Ending.FAILED, str(error))
        limit = status.knobs.get("environment.max_consecutive_faults")
        if run.snapshot.faults_in_a_row >= limit:
            save(run)
            return close(run, Ending.FAILED, _too_many_faults(run, limit))
        if run.snapshot.step % run.config.checkpoint.every == 0:
            save(run)
    save(run)
    shortened = run.snapshot.step < run.config.total_steps
    return close(run, Ending.STOPPED if shortened else Ending.FINISHED)


def train_step(run: Run, status: KnobStatus) -> Snapshot:
    """One step of PPO under the knobs in force; returns the state after it."""
    began, before, step = run.clock(), run.snapshot, run.snapshot.step + 1
    assignments, cursor = deal_step(run, step, status.knobs)
    tell(run, stage="rollout")
    rollout = collect(
        assignments,
        run.scene,
        knobs=status.knobs,
        revision=status.revision,
        seed=run.config.seed,
    )
    tell(run, stage="learn")
    stats = improve(run, rollout, status.knobs)
    run.scene.sampler.sync(run.learner.policy_version)
    record = _record(run, step, status, rollout, stats, run.clock() - began)
    write(run, record, rollout, assignments, status)
    history = before.success_history
    if record.success is not None:
        history = (*history, record.success)[-HISTORY_STEPS:]
    faults = count_faults(before.faults_in_a_row, rollout.episodes)
    return Snapshot(step, status.revision, cursor, history, faults)


def reconcile(run: Run, step: int) -> KnobStatus:
    """Return the knobs of this step: those on file for a replayed step, else those on disk."""
    logged = run.log.logged(step)
    if logged is not None:
        status = run.live.replay(int(logged["revision"]))
    else:
        status = run.live.reconcile(
            step, success_history=run.snapshot.success_history, now=run.now()
        )
    tell(
        run,
        phase="training",
        stage="knobs" if logged is None else "replay",
        step=max(run.snapshot.step, run.log.last_step),
        reason=None,
        total_steps=run.total_steps,
        revision=status.revision,
        refused=[finding.to_json() for finding in status.refused],
        warnings=[finding.to_json() for finding in (*status.warnings, *status.waiting)],
        in_force_since=dict(status.since_step),
    )
    if logged is None:
        _tell_knobs(run, step, status)
    run.last_status = status
    return status


def deal_step(run: Run, step: int, knobs: Knobs) -> tuple[tuple[Assignment, ...], Any]:
    """Return the episodes of a step, drawn by the mix in force."""
    mix = dict(knobs.get("environment.task_mix") or {})
    if not any(mix.values()):
        mix = {world: setting.weight for world, setting in run.config.worlds.items()}
    return deal(
        run.tasks,
        run.snapshot.cursor,
        step=step,
        num_dialogues=run.config.rollout.dialogues_per_step,
        group_size=run.config.rollout.group_size,
        mix=mix,
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
    if not replayed:
        _tell_episodes(run, record, rollout)
    newest = max(record.step, run.log.last_step)
    tell(run, stage="recorded", step=newest, health=_health(run, record, told=replayed))
    run.watcher(record, status)


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


def _record(
    run: Run,
    step: int,
    status: KnobStatus,
    rollout: Rollout,
    stats: UpdateStats | None,
    step_s: float,
) -> StepRecord:
    spent = rollout.timings
    return StepRecord(
        step=step,
        revision=status.revision,
        knobs_digest=status.knobs.digest,
        policy_version=run.learner.policy_version - (1 if stats else 0),
        **runlog.summarise(rollout),
        learner=dict(stats.metrics) if stats else {},
        updated=stats is not None,
        params_digest=run.learner.fingerprint(),
        rollout_s=round(sum(spent.values()), 4),
        sample_s=round(spent.get("sample", 0.0), 4),
        world_s=round(spent.get("world", 0.0), 4),
        user_s=round(spent.get("user", 0.0), 4),
        score_s=round(stats.score_s, 4) if stats else 0.0,
        learn_s=round(stats.learn_s, 4) if stats else 0.0,
        step_s=round(step_s, 4),
        time=round(run.now(), 3),
    )


def _tell_knobs(run: Run, step: int, status: KnobStatus) -> None:
    if status.changed:
        changes = [change.to_json() for change in status.changed]
        event(run, "knob_adopted", step, revision=status.revision, changes=changes)
    if status.refused and (run.last_status is None or run.last_status.refused != status.refused):
        refusals = [finding.to_json() for finding in status.refused]
        event(run, "knob_refused", step, revision=status.revision, findings=refusals)
    for outcome in status.proposals:
        kind = "proposal_refused" if outcome.revision is None else "proposal_adopted"
        event(run, kind, step, outcome=outcome.to_json())


def _tell_episodes(run: Run, record: StepRecord, rollout: Rollout) -> None:
    for episode in rollout.episodes:
        if episode.stop.outcome is not Outcome.FINISHED:
            event(
                run,
                episode.stop.outcome.value,
                record.step,
                episode=episode.id,
                stop=episode.stop.value,
                error=episode.error,
            )
    if not record.updated:
        event(run, "no_update", record.step, stop_reasons=dict(record.stop_reasons))


def _health(run: Run, record: StepRecord, *, told: bool) -> dict[str, Any]:
    """Return the numbers that tell trouble; events for them unless they were told before."""
    recent = [
        logged["reward"]
        for step in range(max(record.step - CONSTANT_STEPS, 0) + 1, record.step + 1)
        if (logged := run.log.logged(step)) is not None
    ]
    constant = len(recent) == CONSTANT_STEPS and len(set(recent)) == 1
    if constant and not told and record.step % CONSTANT_STEPS == 0:
        event(run, "constant_reward", record.step, value=recent[0], steps=CONSTANT_STEPS)
    return {
        "quarantined_share": round(record.quarantined / max(record.started, 1), 4),
        "constant_reward": constant,
        "updated": record.updated,
    }


def _too_many_faults(run: Run, limit: int) -> str:
    return (
        f"{run.snapshot.faults_in_a_row} episodes in a row were quarantined; "
        f"environment.max_consecutive_faults is {limit}: see events.jsonl for their reasons, "
        "mend the world or the user, then resume"
    )
