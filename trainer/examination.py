"""An examination: a run's policy plays the pinned evaluation, from checkpoint to result folder.

Nothing of the run is written, and whatever training did to its knobs and worlds changes nothing.
What the numbers are is told in `trainer.evaluation`; this module puts its pieces together.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

from gate.contract.paths import RunPaths
from trainer import (
    assembly,
    checkpoint,
    evaluation,
    launch,
    official,
    preflight,
    recipe_file,
    run_folder,
)
from trainer.evaluation import EvaluationResult
from trainer.evaluation_judge import AskedJudge
from trainer.evaluation_user import AskedUser
from trainer.official import Benchmark
from trainer.recipe import JudgeConfig, RunConfig, ServiceConfig, UsersConfig
from trainer.run_folder import FIRST_REVISION, LaunchError
from trainer.task import Task
from trainer.users.spending import Meter
from trainer.worlds import catalog

_PLACE = "users.evaluation"
_JUDGE_PLACE = "judge.evaluation"


def asked(users: UsersConfig, settings: Sequence[str] = ()) -> AskedUser:
    """Return the user that a recipe names for evaluations under `users.evaluation`.

    Args:
        users: The recipe's users.
        settings: Entries such as `model=toy` over what the recipe says, values in YAML.

    Raises:
        recipe_file.RecipeError: if a setting cannot be read.
        LaunchError: if the endpoint cannot be used.
    """
    endpoint = recipe_file.with_settings(users.evaluation, settings, where=_PLACE)
    _require_usable(endpoint, _PLACE, option="--endpoint")
    return AskedUser(endpoint, Meter(endpoint.price, endpoint.limit))


def asked_judge(judge: JudgeConfig, settings: Sequence[str] = ()) -> AskedJudge:
    """Return the judge that a recipe names for evaluations under `judge.evaluation`.

    Args:
        judge: The recipe's judge.
        settings: Entries such as `model=toy` over what the recipe says, values in YAML.

    Raises:
        recipe_file.RecipeError: if a setting cannot be read.
        LaunchError: if the endpoint cannot be used.
    """
    endpoint = recipe_file.with_settings(judge.evaluation, settings, where=_JUDGE_PLACE)
    _require_usable(endpoint, _JUDGE_PLACE, option="--judge-endpoint")
    return AskedJudge(endpoint, Meter(endpoint.price, endpoint.limit))


def _require_usable(endpoint: ServiceConfig, place: str, *, option: str) -> None:
    if not endpoint.base_url:
        raise LaunchError(
            f"{place}.base_url is empty in the run's recipe; name the service with {option} "
            f"base_url=http://host:port/v1 and {option} model=NAME"
        )
    for fault in preflight.endpoint_faults(endpoint, place):
        raise LaunchError(fault)


def evaluate(
    paths: RunPaths,
    *,
    checkpoint_step: int | None = None,
    trials: int = 1,
    limit: int | None = None,
    pattern: str | None = None,
    greedy: bool = False,
    benchmark: Benchmark | None = None,
    user: AskedUser | None = None,
    judge: AskedJudge | None = None,
) -> tuple[EvaluationResult, Path]:
    """Play the pinned evaluation with a run's policy; returns the result and where it lies.

    Args:
        paths: The run whose policy is evaluated; nothing of it is written.
        checkpoint_step: Which checkpoint; None for the newest whole one.
        trials: Episodes per task.
        limit: Only the first so many tasks.
        pattern: Shell pattern of task ids; None for the pattern that the recipe trains on.
        greedy: Take the likeliest token instead of sampling.
        benchmark: Who scores the dialogues of tau2 worlds beside our verifier; None for nobody.
        user: A served model that plays the user in place of the symbolic one; what it shows is
            labelled, and is no pinned evaluation.
        judge: A served model that decides what worlds leave to a judge, in place of their rules;
            labelled likewise. Whoever judged the training does not matter.

    Raises:
        evaluation.EvaluationError: if no task matches.
    """
    assembly.quiet()
    launched = run_folder.read_launch(paths)
    config = replace(launched, worlds={**launched.worlds, **launched.held_out})
    judged = judge.of(config.judge) if judge is not None else JudgeConfig()
    config = replace(config, judge=judged)
    if user is not None:
        config = replace(config, users=user.of(config.users))
    directory = checkpoint.chosen(paths, checkpoint_step)
    place = evaluation.root() / f"{paths.root.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    policy = assembly.saved_policy(directory)
    # Weights are all that an evaluation needs; a checkpoint of many ranks is read by one process.
    whole = replace(config, backend="torch")
    learner = assembly.make_learner(whole, policy, checkpoint=directory)
    run_folder.check_world(paths)
    tasks = _tasks(config, pattern)[:limit]
    sampler = assembly.make_sampler(config, policy, learner.policy_version)
    with (
        closing(sampler),
        _pinned_worlds(paths, launched) as root,
        assembly.make_places(config, lambda _: root, meter=user and user.meter) as places,
    ):
        scene = assembly.make_scene(
            config, policy, sampler, places, greedy=greedy, judge_meter=judge and judge.meter
        )
        episodes = evaluation.play(tasks, scene, num_trials=trials, pinned=user is None)
        world_digest = run_folder.folder_digest(root)
    outcome = evaluation.result(
        episodes,
        tasks,
        policy=f"{paths.root.name}/{directory.name}",
        policy_version=learner.policy_version,
        num_trials=trials,
        decoding="greedy" if greedy else f"sampled at temperature {config.learner.temperature}",
        world_digest=world_digest,
        held_out=launched.held_out,
        user=user,
        judge=judge,
    )
    if benchmark is not None:
        outcome = replace(outcome, official=official.score(tasks, episodes, benchmark))
    return outcome, evaluation.write(_unused(place), outcome, episodes)


def _tasks(config: RunConfig, pattern: str | None) -> list[Task]:
    """Return the tasks of an evaluation, of every world.

    Raises:
        evaluation.EvaluationError: if no task matches.
    """
    tasks = [
        task
        for world, loaded in launch.load_tasks(config, "evaluation", pattern="*").items()
        for task in loaded
        if fnmatch(task.id, pattern or config.worlds[world].tasks)
    ]
    if not tasks:
        wanted = pattern or ", ".join(setting.tasks for setting in config.worlds.values())
        raise evaluation.EvaluationError(f"no evaluation task matches {wanted!r}; try --tasks '*'")
    return tasks


@contextmanager
def _pinned_worlds(paths: RunPaths, config: RunConfig) -> Iterator[Path]:
    """Give a folder with every world of an evaluation: the run's at revision 0, others as they are.

    Worlds that are held out are not in the run, so they come from where worlds live.
    """
    launched = paths.world / FIRST_REVISION
    if not config.held_out:
        yield launched
        return
    with TemporaryDirectory(prefix="eau-evaluation-") as folder:
        for world in config.worlds:
            launch.copy_world(launched / world, Path(folder) / world)
        for world in config.held_out:
            launch.copy_world(catalog.world(world).folder, Path(folder) / world)
        yield Path(folder)


def _unused(place: Path) -> Path:
    """Return a folder name that is not taken yet."""
    candidate, count = place, 2
    while candidate.exists():
        candidate = place.with_name(f"{place.name}-{count}")
        count += 1
    return candidate
