"""Sessions: one process that trains or resumes a run, and cleans up after itself.

Worlds' processes end with the session however it ends; a signal asks for a clean stop with a
checkpoint. This module puts the pieces together and knows nothing about their insides.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from filelock import FileLock, Timeout
from rich.console import Console

from gate.contract.files import DiskFull
from gate.contract.paths import RunPaths
from gate.contract.watch_mark import Mark
from gate.guard import Prober
from trainer import (
    assembly,
    checkpoint,
    demonstrations,
    devices,
    endpoints,
    following,
    knob_folders,
    launch,
    loop,
    meta_agent,
    preflight,
    run_folder,
)
from trainer import resume as resuming
from trainer.checkpoint import CheckpointError, Snapshot
from trainer.launch import LaunchPlan
from trainer.live import LiveKnobs
from trainer.loop import Ending
from trainer.overlap import Overlap
from trainer.policy import skeleton
from trainer.policy.build import Policy
from trainer.policy.sampler import HoldsWeights
from trainer.progress import StepPrinter
from trainer.recipe import RunConfig, WarmStart
from trainer.rollout.places import Place
from trainer.run import Run
from trainer.run_folder import FIRST_REVISION
from trainer.runlog import RunLog
from trainer.users import rule_file, spending
from trainer.users.symbolic import SymbolicUser

_PLAIN: Any = {"markup": False, "highlight": False, "soft_wrap": True}
"""How text that is not ours is printed."""

Adjust = Callable[[Run], None]
"""A last word on a run before it trains, such as a watcher of its own."""


def new_id(name: str) -> str:
    """Return a folder name for a new run: the time and the recipe."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"


def start(
    planned: LaunchPlan,
    console: Console,
    *,
    adjust: Adjust | None = None,
    parent: str | None = None,
    fault: str | None = None,
) -> Ending:
    """Create a run and train it to its end.

    Args:
        planned: A run that can start.
        console: Where it tells what happens.
        adjust: A last word on the run before it trains.
        parent: Id of the run that this one restarts; its experiment's budget counts.
        fault: For which irreversible fault of it.
    """
    assembly.quiet()
    config = planned.config
    following.require_first(config)
    devices.require_device(config)
    policy = _pretrained(config)
    with knob_folders.marked(planned.watched, planned.root) as mark:
        paths = launch.create(planned, now=time.time(), parent=parent)
        log = RunLog(paths, now=time.time)
        with _only_trainer(paths), _failure_on_file(log):
            restarted = {} if parent is None else {"restarts": parent, "fault": fault}
            log.event("run_started", 0, recipe=config.name, **restarted)
            log.status(phase="warm_start", stage="demonstrations", total_steps=config.total_steps)
            policy = policy or _small_policy(planned, paths, console)
            with _live_run(paths, config, policy, log) as run:
                loop.save(run)
                return _train(run, console, adjust, mark)


def resume(paths: RunPaths, console: Console, *, adjust: Adjust | None = None) -> Ending:
    """Go on with a run from its last good checkpoint."""
    assembly.quiet()
    config = run_folder.read_launch(paths)
    for fault in preflight.backend_faults(config):
        raise launch.LaunchError(fault)
    following.require_first(config)
    devices.require_device(config)
    watched = knob_folders.of_run(paths)
    with _only_trainer(paths), knob_folders.marked(watched, paths.root) as mark:
        planned = resuming.plan(paths)
        directory, snapshot, rejected = planned.found
        log = RunLog(paths, now=time.time, after=snapshot.step)
        log.clear_leftovers()
        checkpoint.clear_unfinished(paths.checkpoints)
        with _failure_on_file(log):
            for entry in rejected:
                name = entry.directory.name
                console.print(f"checkpoint {name} not used: {entry.reason}", **_PLAIN)
                log.event(
                    "checkpoint_rejected", snapshot.step, checkpoint=name, reason=entry.reason
                )
            log.event("run_resumed", snapshot.step, **resuming.differences(planned))
            console.print(
                f"resuming {paths.root.name} from step {snapshot.step}; "
                f"{planned.last_step - snapshot.step} steps on file are replayed and compared",
                **_PLAIN,
            )
            with _part_errors(directory):
                policy = assembly.saved_policy(directory)
            with _live_run(paths, config, policy, log, (snapshot, directory)) as run:
                return _train(run, console, adjust, mark)


def _pretrained(config: RunConfig) -> Policy | None:
    """Return a policy that comes with weights, before any directory is made; None for a small one.

    Raises:
        launch.LaunchError: if the model cannot be used.
    """
    if config.policy.kind == "small":
        return None
    try:
        return assembly.new_policy(config, [], lambda what, done, total: None)
    except (OSError, ValueError) as error:
        raise launch.LaunchError(f"policy: {error}") from error


def _small_policy(planned: LaunchPlan, paths: RunPaths, console: Console) -> Policy:
    """Return a policy made from nothing but demonstrations."""
    config = planned.config
    root = paths.world / FIRST_REVISION
    rules = {world: rule_file.load(root / world / "user.yaml") for world in config.worlds}
    shown = demonstrations.demonstrate(
        config,
        config.policy.warm_start or WarmStart(),
        planned.tasks,
        SymbolicUser(rules),
        planned.knobs,
    )
    told = ", ".join(f"{name} {share:.2f}" for name, share in shown.success_by_player.items())
    console.print(f"{len(shown.dialogues)} demonstrations; success by player: {told}", **_PLAIN)
    with console.status("making the policy") as spinner:

        def report(what: str, done: int, total: int) -> None:
            spinner.update(f"{what}: {done} of {total}")

        return assembly.new_policy(config, shown.dialogues, report)


@contextmanager
def _live_run(
    paths: RunPaths,
    config: RunConfig,
    policy: Policy,
    log: RunLog,
    start: tuple[Snapshot, Path] | None = None,
) -> Iterator[Run]:
    """Give a run that is ready to train, from its first step or from a checkpoint.

    Its worlds end with the block.
    """
    snapshot, directory = start or (Snapshot(), None)
    # The reference stays the policy that the run began with, wherever the run goes on from.
    origin = paths.checkpoint(0) if directory is not None else None
    ranks = assembly.join_ranks(config)
    following.muster(ranks, paths, config, policy, directory)
    with _part_errors(directory or paths.checkpoints):
        learner = assembly.make_learner(
            config, policy, checkpoint=directory, reference=True, origin=origin
        )
    sampler = assembly.make_sampler(config, policy, learner.policy_version)
    with ExitStack() as stack:
        stack.callback(sampler.close)
        meter = endpoints.make_meter(config.users.endpoint, before=spending.from_record(log.spent))
        judge_meter = endpoints.make_meter(
            config.judge.endpoint, before=spending.from_record(log.judge_spent)
        )
        places = stack.enter_context(
            assembly.make_places(config, paths.world_revision, meter=meter)
        )
        log.status(not_protected=_unprotected(places.at(0), config))
        prober = Prober(paths.probe, waits=config.meta_agent.waits)
        live = LiveKnobs(paths, worlds=tuple(config.worlds), prober=prober)
        stack.callback(live.close)
        overlap = None
        if config.rollout.overlap and isinstance(sampler, HoldsWeights):
            # Closed first: nobody may play in worlds that end.
            overlap = Overlap(sampler)
            stack.callback(overlap.close)
        yield Run(
            config=config,
            paths=paths,
            live=live,
            scene=assembly.make_scene(config, policy, sampler, places, judge_meter=judge_meter),
            learner=following.leading(learner, ranks),
            collect=following.together(ranks, meter, sampler),
            overlap=overlap,
            tasks=launch.load_tasks(config),
            log=log,
            snapshot=snapshot,
            meter=meter if config.users.other == "llm" else None,
            judge_meter=judge_meter if config.judge.kind == "endpoint" else None,
            saved_step=snapshot.step if directory is not None else None,
            checkpoint_parts={assembly.POLICY_PART: partial(skeleton.save, policy)},
        )


def _unprotected(launched: Place, config: RunConfig) -> list[str]:
    """Load every world of the launch; return what the system cannot keep them from.

    Raises:
        launch.LaunchError: if a world cannot be used.
    """
    for world in config.worlds:
        fault = launched.worlds.check(world)
        if fault is not None:
            raise launch.LaunchError(f"world {world} cannot be used: {fault.detail}")
    return [
        f"world {world} can reach the network: this system grants no fence"
        for world in launched.unfenced()
    ]


@contextmanager
def _only_trainer(paths: RunPaths) -> Iterator[None]:
    """Keep every other trainer off a run; the lock falls with this process.

    Raises:
        launch.LaunchError: if another process trains the run.
    """
    lock = FileLock(paths.root / ".trainer.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise launch.LaunchError(
            f"{paths.root} is being trained by another process; stop that one first (its id is "
            "in status.json), or start another run"
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _failure_on_file(log: RunLog) -> Iterator[None]:
    """Put an error that ends the session on file before it goes on its way."""
    try:
        yield
    except BaseException as error:
        reason = str(error) or type(error).__name__
        # On a full disk the error itself must still get through.
        with suppress(DiskFull):
            log.status(phase=Ending.FAILED.value, stage="done", reason=reason)
            log.event("run_finished", log.last_step, ending=Ending.FAILED.value, reason=reason)
        raise


@contextmanager
def _part_errors(directory: Path) -> Iterator[None]:
    """Turn what a reader of a checkpoint's parts complains about into one clear error."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{directory}: {error}; move that checkpoint away to go on from an older one"
        ) from error


def _train(run: Run, console: Console, adjust: Adjust | None, mark: Mark | None) -> Ending:
    news = knob_folders.Notices(run.paths, mark)
    shown = StepPrinter(console, run.total_steps, news, knob_folders.shown(run.paths.knobs))
    with shown as printer, _stop_signals() as asked:
        run.watcher = printer
        run.stop_asked = asked
        if adjust is not None:
            adjust(run)
        with meta_agent.beside(run.config.meta_agent, run.paths) as run.wait:
            ending = loop.train(run)
    following.dismiss(assembly.join_ranks(run.config), ending)
    return ending


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
