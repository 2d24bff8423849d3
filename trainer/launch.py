"""Launching a run: its directory, its launch record, and everything it starts from.

Whatever can be wrong is found before the first episode: recipe, knob files, tasks, worlds, disk.
A run directory is made only when all of that is right, and nothing in an existing one is ever
written over. This module knows nothing about training steps.
"""

from __future__ import annotations

import io
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from gate.contract import files, knobs, launch_record, protected, revisions
from gate.contract.findings import Refused, Severity
from gate.contract.knobs import ABSENT, KnobChange, Knobs
from gate.contract.ledger import Author
from gate.contract.paths import RunPaths
from gate.guard import inspection
from trainer import knob_folders, planted, preflight, recipe_file
from trainer.recipe import RunConfig
from trainer.run_folder import (
    FIRST_REVISION,
    LATEST,
    RUNS,
    STARTING_KNOBS,
    WORLD,
    LaunchError,
    folder_digest,
)
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.declaration import NEVER_EDITABLE


@dataclass(frozen=True)
class LaunchPlan:
    """A run that can start: everything was read and checked, nothing written yet."""

    config: RunConfig
    knobs: Knobs
    knob_files: Mapping[str, bytes]
    tasks: Mapping[str, tuple[Task, ...]]
    run_id: str
    root: Path
    watched: Path | None = None
    """The folder that it watches in place of its own, links followed; None for its own."""


def plan(
    config: RunConfig,
    *,
    run_id: str,
    runs: Path = RUNS,
    knob_dir: Path = STARTING_KNOBS,
    watched: Path | None = None,
) -> LaunchPlan:
    """Check that a run can start.

    Args:
        config: The recipe, complete.
        run_id: Name of the run's folder, such as `20260301-120000-demo`.
        runs: Folder that holds the runs.
        knob_dir: Folder of the starting knob files, which the run copies.
        watched: Folder of knob files that the run watches instead; what comes into force is
            written there.

    Raises:
        LaunchError: if anything stands in the way.
        trainer.errors.Unusable: if a fault that it plants could not come into force.
        gate.contract.findings.Refused: if the starting knob files are not acceptable.
    """
    _check_place(runs, run_id)
    for fault in preflight.faults(config):
        raise LaunchError(fault)
    _check_disk(config, runs)
    tasks = load_tasks(config)
    folder = None if watched is None else knob_folders.usable(watched, runs)
    values, knob_files = starting_values(config, folder or knob_dir)
    if folder is not None:
        wanted = values
        values, knob_files = starting_values(replace(config, knobs={}), folder)
        if differences := knob_folders.differences(folder, knob_files, values, wanted):
            raise Refused(differences)
    return LaunchPlan(config, values, knob_files, tasks, run_id, runs / run_id, folder)


def starting_values(
    config: RunConfig, knob_dir: Path = STARTING_KNOBS
) -> tuple[Knobs, Mapping[str, bytes]]:
    """Return the knobs that a run begins with, the recipe's over the starting files.

    Args:
        config: The recipe, complete.
        knob_dir: Folder of the starting knob files.

    Raises:
        LaunchError: if a file is missing, or the recipe names one that is none.
        trainer.errors.Unusable: if a fault that it plants could not come into force.
        gate.contract.findings.Refused: if the values are not acceptable.
    """
    knob_files = _starting_knobs(config, knob_dir)
    worlds = tuple(config.worlds)
    planted.check(config.plant, worlds=worlds)
    parsed = {name: knobs.parse(name, data, worlds=worlds) for name, data in knob_files.items()}
    values = knobs.from_values({name: file.values for name, file in parsed.items()}, worlds=worlds)
    findings = inspection.inspect_values(values)
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise Refused(findings)
    return values, knob_files


def create(launch: LaunchPlan, *, now: float, parent: str | None = None) -> RunPaths:
    """Make the run's directory and its launch record; returns its paths.

    Args:
        launch: A run that can start.
        now: Seconds since 1970.
        parent: Id of the run that this one restarts.

    Raises:
        LaunchError: if the experiment that it belongs to has had all its launches.
    """
    paths = RunPaths(launch.root)
    attempt = 1 if parent is None else 1 + launch_record.attempt(launch.root.parent / parent)
    if attempt > launch_record.MOST_ATTEMPTS:
        raise LaunchError(
            f"a restart of {parent} would be launch {attempt} of its experiment; "
            f"{launch_record.MOST_ATTEMPTS} are allowed, aborted ones included: begin a new one"
        )
    launch.root.mkdir(parents=True)
    for folder in (paths.world, paths.episodes, paths.checkpoints):
        folder.mkdir()
    for folder in (paths.candidate, paths.proposals, paths.experiments):
        folder.mkdir()
    if launch.watched is None:
        paths.knobs.mkdir()
    else:
        paths.knobs.symlink_to(launch.watched)
    for world in launch.config.worlds:
        copy_world(catalog.world(world).folder, paths.world / FIRST_REVISION / world)
    world_digest = folder_digest(paths.world / FIRST_REVISION)
    files.write_whole(
        paths.launch, _yaml(_launch_record(launch, world_digest, now, parent, attempt))
    )
    contents = {f"knobs/{name}.yaml": content for name, content in launch.knob_files.items()}
    digests = {path: files.content_digest(content) for path, content in contents.items()}
    revisions.launch(
        paths,
        contents if launch.watched is None else {},
        launch.knobs,
        author=Author.PERSON,
        reason=f"launch of recipe {launch.config.name}",
        now=now,
        in_place=None if launch.watched is None else digests,
    )
    _point_latest(launch.root)
    return paths


def load_tasks(
    config: RunConfig, split: str = "train", *, pattern: str | None = None
) -> dict[str, tuple[Task, ...]]:
    """Return the tasks of every world of a recipe.

    Args:
        config: The recipe.
        split: `train` or `evaluation`.
        pattern: Shell pattern of task ids; None for the recipe's own.

    Raises:
        LaunchError: if a world has no task left after the recipe's selection.
    """
    chosen: dict[str, tuple[Task, ...]] = {}
    for world, setting in config.worlds.items():
        try:
            tasks = catalog.tasks(world, split, source=setting.source)
        except (ValueError, OSError) as error:
            raise LaunchError(f"worlds.{world}: {error}") from error
        kept = [task for task in tasks if fnmatch(task.id, pattern or setting.tasks)][
            : setting.limit
        ]
        if not kept:
            raise LaunchError(
                f"worlds.{world}.tasks: {setting.tasks!r} matches none of {len(tasks)} {split} "
                f"tasks, such as {tasks[0].id if tasks else '(none)'}; change the pattern"
            )
        chosen[world] = tuple(kept)
    return chosen


def copy_world(source: Path, target: Path) -> None:
    """Copy what a run may edit of a world: never its oracle, gold, tasks or evaluation."""

    def left_out(directory: str, names: Sequence[str]) -> list[str]:
        top = Path(directory) == source
        return [name for name in names if name == "__pycache__" or (top and name in NEVER_EDITABLE)]

    shutil.copytree(source, target, ignore=left_out)


def _check_place(runs: Path, run_id: str) -> None:
    """Refuse a place for a run that is taken or leads out of the folder of runs."""
    plain = bool(run_id) and run_id == Path(run_id).name and not run_id.startswith(".")
    if not plain or run_id == LATEST:
        raise LaunchError(f"--run-id {run_id!r} is no name for a folder of runs; choose another")
    root = runs / run_id
    if root.exists() or root.is_symlink():
        raise LaunchError(f"{root} exists; choose another name with --run-id, or resume it")
    if runs.exists() and not runs.is_dir():
        raise LaunchError(f"{runs} is not a folder; choose another with --runs")
    latest = runs / LATEST
    if latest.exists() and not latest.is_symlink():
        raise LaunchError(
            f"{latest} is not the link to the newest run that it should be; rename it"
        )


def _starting_knobs(config: RunConfig, knob_dir: Path) -> dict[str, bytes]:
    unknown = set(config.knobs) - set(knobs.FILES)
    if unknown:
        raise LaunchError(
            f"knobs.{min(unknown)}: no such knob file; the recipe may set {', '.join(knobs.FILES)}"
        )
    # Outside a checkout there is no starting set: then every knob has its declared default.
    by_default = knob_dir == STARTING_KNOBS and not knob_dir.exists()
    contents: dict[str, bytes] = {}
    for name in knobs.FILES:
        path = knob_dir / f"{name}.yaml"
        try:
            content = knobs.render_defaults(name) if by_default else path.read_bytes()
        except OSError as error:
            raise LaunchError(
                f"{path}: {error.strerror}; a run needs a folder with {name}.yaml, such as the "
                "repository's knobs/"
            ) from error
        _check_file(path, name, content, tuple(config.worlds))
        over = config.knobs.get(name, {})
        changes = [KnobChange(f"{name}.{key}", ABSENT, value) for key, value in over.items()]
        contents[name] = knobs.edit(name, content, changes) if changes else content
    return contents


def _check_file(path: Path, name: str, content: bytes, worlds: tuple[str, ...]) -> None:
    """Refuse a starting file with the place of its fault in the file that a person can mend."""
    try:
        knobs.parse(name, content, worlds=worlds)
    except Refused as refused:
        raise Refused([replace(one, file=str(path)) for one in refused.findings]) from refused


def _check_disk(config: RunConfig, runs: Path) -> None:
    place = runs if runs.exists() else Path.cwd()
    free_mb = shutil.disk_usage(place).free / 2**20
    if free_mb < config.checkpoint.min_free_mb:
        raise LaunchError(
            f"{free_mb:.0f} MB free at {place}; checkpoint.min_free_mb asks for "
            f"{config.checkpoint.min_free_mb:.0f}: free some space or lower it"
        )


def _launch_record(
    launch: LaunchPlan, world_digest: str, now: float, parent: str | None, attempt: int
) -> dict[str, Any]:
    packages = ["torch", "transformers", "numpy"]
    packages += ["deepspeed"] if launch.config.backend == "deepspeed" else []
    packages += ["peft"] if launch.config.policy.lora else []
    return {
        "run": launch.run_id,
        "launched": round(now, 3),
        "parent": parent,
        "attempt": attempt,
        "knobs": None if launch.watched is None else str(launch.watched),
        "commit": _commit(),
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in packages},
        },
        "tasks": {
            world: {
                "count": len(tasks),
                "provenance": tasks[0].provenance,
                "digest": _digest(tasks),
            }
            for world, tasks in launch.tasks.items()
        },
        "protected": {f"{WORLD}{FIRST_REVISION}": world_digest, **protected.digests()},
        "config": recipe_file.to_values(launch.config),
    }


def _digest(tasks: Sequence[Task]) -> str:
    return files.content_digest("".join(task.digest for task in tasks).encode())


def _commit() -> str | None:
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None


def _yaml(values: Mapping[str, Any]) -> bytes:
    stream = io.BytesIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # pyright: ignore[reportAttributeAccessIssue]
    yaml.dump(dict(values), stream)
    return stream.getvalue()


def _point_latest(root: Path) -> None:
    """Let `runs/latest` name the newest run, in one rename."""
    neighbour = root.parent / f".latest.{os.getpid()}"
    neighbour.unlink(missing_ok=True)
    neighbour.symlink_to(root.name)
    os.replace(neighbour, root.parent / LATEST)
