"""Sessions: one process that trains, resumes or evaluates a run, and cleans up after itself.

Worlds' processes end with the session however it ends; a signal asks for a clean stop with a
checkpoint. This module puts the pieces together and knows nothing about their insides.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from gate.contract.paths import RunPaths
from trainer import assembly, checkpoint, demonstrations, evaluation, launch, loop
from trainer import resume as resuming
from trainer.checkpoint import Snapshot
from trainer.evaluation import EvaluationResult
from trainer.launch import FIRST_REVISION, LaunchPlan
from trainer.live import LiveKnobs
from trainer.loop import Ending, Run
from trainer.policy import skeleton
from trainer.policy.build import Policy
from trainer.policy.warmstart import Demonstration
from trainer.progress import StepPrinter
from trainer.recipe import RunConfig, WarmStart
from trainer.runlog import RunLog
from trainer.users import rule_file
from trainer.users.symbolic import SymbolicUser

Adjust = Callable[[Run], None]
"""A last word on a run before it trains, such as a watcher of its own."""


def new_id(name: str) -> str:
    """Return a folder name for a new run: the time and the recipe."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"


def start(planned: LaunchPlan, console: Console, *, adjust: Adjust | None = None) -> Ending:
    """Create a run and train it to its end."""
    config = planned.config
    paths = launch.create(planned, now=time.time())
    log = RunLog(paths, now=time.time)
    log.event("run_started", 0, recipe=config.name)
    log.status(phase="warm_start", stage="demonstrations", total_steps=config.total_steps)
    policy = _fresh_policy(planned, paths, console)
    with _live_run(paths, config, policy, log, Snapshot(), None) as run:
        loop.save(run)
        return _train(run, console, adjust)


def resume(paths: RunPaths, console: Console, *, adjust: Adjust | None = None) -> Ending:
    """Go on with a run from its last good checkpoint."""
    config = launch.read_launch(paths)
    planned = resuming.plan(paths)
    directory, snapshot, rejected = planned.found
    log = RunLog(paths, now=time.time)
    for entry in rejected:
        console.print(f"[red]checkpoint {entry.directory.name} not used:[/] {entry.reason}")
        log.event(
            "checkpoint_rejected",
            snapshot.step,
            checkpoint=entry.directory.name,
            reason=entry.reason,
        )
    log.event("run_resumed", snapshot.step, **resuming.differences(planned))
    replayed = planned.last_step - snapshot.step
    console.print(
        f"resuming {paths.root.name} from step {snapshot.step}; {replayed} steps on file are "
        "replayed and compared",
        highlight=False,
    )
    policy = assembly.saved_policy(directory)
    with _live_run(paths, config, policy, log, snapshot, directory) as run:
        return _train(run, console, adjust)


def evaluate(
    paths: RunPaths,
    *,
    checkpoint_step: int | None = None,
    repeats: int = 1,
    limit: int | None = None,
    pattern: str | None = None,
    greedy: bool = False,
) -> tuple[EvaluationResult, Path]:
    """Play the pinned evaluation with a run's policy; returns the result and where it lies.

    Args:
        paths: The run whose policy is evaluated; nothing of it is written.
        checkpoint_step: Which checkpoint; None for the newest whole one.
        repeats: Episodes per task.
        limit: Only the first so many tasks.
        pattern: Shell pattern of task ids; None for the pattern that the recipe trains on.
        greedy: Take the likeliest token instead of sampling.
    """
    config = launch.read_launch(paths)
    directory = _checkpoint_at(paths, checkpoint_step)
    place = evaluation.root() / f"{paths.root.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    policy = assembly.saved_policy(directory)
    learner = assembly.make_learner(config, policy, checkpoint=directory)
    world_root = paths.world / FIRST_REVISION
    tasks = [
        task
        for world, loaded in launch.load_tasks(config, "evaluation", pattern="*").items()
        for task in loaded
        if fnmatch(task.id, pattern or config.worlds[world].tasks)
    ][:limit]
    if not tasks:
        raise evaluation.EvaluationError(f"no evaluation task matches {pattern!r}")
    sampler = assembly.make_sampler(config, policy, learner.policy_version)
    with assembly.make_worlds(config, world_root) as worlds:
        scene = assembly.make_scene(config, policy, sampler, worlds, world_root, greedy=greedy)
        episodes = evaluation.play(tasks, scene, repeats=repeats)
    outcome = evaluation.result(
        episodes,
        tasks,
        policy=f"{paths.root.name}/{directory.name}",
        policy_version=learner.policy_version,
        repeats=repeats,
        decoding="greedy" if greedy else f"sampled at temperature {config.learner.temperature}",
        world_digest=evaluation.world_digest(world_root),
    )
    return outcome, evaluation.write(_unused(place), outcome, episodes)


def _fresh_policy(planned: LaunchPlan, paths: RunPaths, console: Console) -> Policy:
    config, warm = planned.config, planned.config.policy.warm_start
    dialogues: list[Demonstration] = []
    if config.policy.kind == "small":
        root = paths.world / FIRST_REVISION
        rules = {world: rule_file.load(root / world / "user.yaml") for world in config.worlds}
        shown = demonstrations.demonstrate(
            config,
            warm or WarmStart(),
            planned.tasks,
            SymbolicUser(rules),
            planned.knobs,
        )
        dialogues = shown.dialogues
        told = ", ".join(f"{name} {share:.2f}" for name, share in shown.success_by_player.items())
        console.print(f"{len(dialogues)} demonstrations; success by player: {told}")
    with console.status("making the policy") as spinner:

        def report(what: str, done: int, total: int) -> None:
            spinner.update(f"{what}: {done} of {total}")

        return assembly.new_policy(config, dialogues, report)


@contextmanager
def _live_run(
    paths: RunPaths,
    config: RunConfig,
    policy: Policy,
    log: RunLog,
    snapshot: Snapshot,
    directory: Path | None,
) -> Iterator[Run]:
    """Give a run that is ready to train; its worlds end with the block."""
    world_root = paths.world / FIRST_REVISION
    learner = assembly.make_learner(config, policy, checkpoint=directory)
    sampler = assembly.make_sampler(config, policy, learner.policy_version)
    with ExitStack() as stack:
        stack.callback(sampler.close)
        worlds = stack.enter_context(assembly.make_worlds(config, world_root))
        for world in config.worlds:
            fault = worlds.check(world)
            if fault is not None:
                raise launch.LaunchError(f"world {world} cannot be used: {fault.detail}")
        yield Run(
            config=config,
            paths=paths,
            live=LiveKnobs(paths, worlds=tuple(config.worlds)),
            scene=assembly.make_scene(config, policy, sampler, worlds, world_root),
            learner=learner,
            tasks=launch.load_tasks(config),
            log=log,
            snapshot=snapshot,
            checkpoint_parts={assembly.POLICY_PART: partial(skeleton.save, policy)},
        )


def _train(run: Run, console: Console, adjust: Adjust | None) -> Ending:
    with StepPrinter(console, run.total_steps) as printer, _stop_signals() as asked:
        run.watcher = printer
        run.stop_asked = asked
        if adjust is not None:
            adjust(run)
        return loop.train(run)


@contextmanager
def _stop_signals() -> Iterator[Callable[[], bool]]:
    """Turn the first SIGINT or SIGTERM into a question that the loop asks; a second one kills."""
    seen: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    before: dict[int, Any] = {
        number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: bool(seen)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _checkpoint_at(paths: RunPaths, step: int | None) -> Path:
    if step is None:
        return checkpoint.newest(paths.checkpoints).directory
    directory = paths.checkpoint(step)
    fault = checkpoint.problem(directory)
    if fault is not None:
        raise checkpoint.CheckpointError(f"{directory}: {fault}; choose another --checkpoint")
    return directory


def _unused(place: Path) -> Path:
    """Return a folder name that is not taken yet."""
    candidate, count = place, 2
    while candidate.exists():
        candidate = place.with_name(f"{place.name}-{count}")
        count += 1
    return candidate
