"""A live run: everything that a step needs, and how it puts things on file.

Whatever is written waits for room on a full disk, or stops the run, as configured. This module
knows nothing about what a step does.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from gate.contract import files
from gate.contract.paths import RunPaths
from gate.contract.records import StepRecord
from gate.guard import KnobStatus
from trainer import checkpoint
from trainer.checkpoint import Snapshot
from trainer.live import LiveKnobs
from trainer.meta_agent import Wait
from trainer.ppo.learner import Learner
from trainer.recipe import RunConfig
from trainer.rollout.collect import Rollout, collect
from trainer.rollout.scene import Scene
from trainer.runlog import RunLog
from trainer.task import Task
from trainer.telling import Told
from trainer.users.spending import Meter

if TYPE_CHECKING:
    from trainer.overlap import Overlap

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
    overlap: Overlap | None = None
    """Plays a step while the one before is learnt from; None where they take turns."""
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
    judge_meter: Meter | None = None
    """Counts what a judge's endpoint is asked, by all ranks; None where rules decide."""
    last_status: KnobStatus | None = None
    wait: Wait = lambda step, stop_asked: None
    """Waits for the tick of a meta-agent that is due after a step, where a study wants it."""

    @property
    def total_steps(self) -> int:
        """The step at which the run ends, as in force."""
        live = self.live.current.get("agent.total_steps")
        return self.config.total_steps if live is None else int(live)

    @property
    def exhausted(self) -> str | None:
        """Which endpoint's limit is reached, in a sentence; None while there is room."""
        meters = {"users.endpoint": self.meter, "judge.endpoint": self.judge_meter}
        for place, meter in meters.items():
            if meter is not None and (spent := meter.exhausted()) is not None:
                return f"{place}: {spent}"
        return None

    @property
    def has_spent_its_tokens(self) -> bool:
        """Whether the policy has written as many tokens as the recipe grants."""
        return self._spends_its_tokens(self.snapshot)

    @property
    def is_over(self) -> bool:
        """Whether no further step is to be trained."""
        return self.ends_with(self.snapshot)

    def ends_with(self, snapshot: Snapshot) -> bool:
        """Return whether no further step is to be trained after one."""
        return snapshot.step >= self.total_steps or self._spends_its_tokens(snapshot)

    def _spends_its_tokens(self, snapshot: Snapshot) -> bool:
        most = self.config.max_action_tokens
        return most is not None and snapshot.action_tokens >= most


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
