"""Folders of runs: where they are, and what a run was launched with.

Whoever only reads a run needs no more than this: no world, model or learner is loaded here. How
such a folder comes about is told in `trainer.launch`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from gate.contract.paths import RunPaths
from gate.contract.world_folder import folder_digest
from trainer import recipe_file
from trainer.errors import Unusable
from trainer.recipe import RunConfig

RUNS = Path("runs")
STARTING_KNOBS = Path("knobs")
FIRST_REVISION = "0000"
WORLD = "world/"
"""Where the revisions of the worlds lie in a run."""
LATEST = "latest"


class LaunchError(Unusable):
    """A run that cannot start or be read; the message says what to change. Nothing was written."""


def read_launch(paths: RunPaths) -> RunConfig:
    """Return the recipe that a run was launched with.

    Raises:
        LaunchError: if the launch record is missing or damaged.
    """
    try:
        record = read_record(paths)
        return recipe_file.from_values(record["config"], where=str(paths.launch))
    except (TypeError, KeyError) as error:
        raise LaunchError(f"{paths.launch} is damaged: {error!r}; restore it") from error


def check_world(paths: RunPaths) -> None:
    """Make sure that revision 0 of a run's worlds is what the run was launched with.

    Raises:
        LaunchError: if a file of it was changed, added or removed since.
    """
    for name, launched in read_record(paths).get("protected", {}).items():
        # The other entries are folders of the checkout, which the gate compares.
        if name.startswith(WORLD) and folder_digest(paths.root / name) != launched:
            raise LaunchError(
                f"{paths.root / name} is not what the run was launched with, so nothing measured "
                "with it could be compared; restore it, and edit a copy as a new revision"
            )


def find_run(name: str | Path, runs: Path = RUNS) -> RunPaths:
    """Return the paths of a run given by folder, by id, or as `latest`.

    Raises:
        LaunchError: if there is no such run.
    """
    for candidate in (Path(name), runs / name):
        if (candidate / "run.yaml").is_file():
            return RunPaths(candidate.resolve())
    known = sorted(
        path.parent.name for path in runs.glob("*/run.yaml") if not path.parent.is_symlink()
    )
    raise LaunchError(f"no run {str(name)!r}; known: {', '.join(known[-5:]) or '(none yet)'}")


def read_record(paths: RunPaths) -> dict[str, Any]:
    """Return the launch record as it was written.

    Raises:
        LaunchError: if it is missing or damaged.
    """
    try:
        record = YAML(typ="safe", pure=True).load(paths.launch.read_bytes())
    except FileNotFoundError as error:
        raise LaunchError(f"{paths.root} is not a run: {paths.launch.name} is missing") from error
    except (YAMLError, UnicodeDecodeError, ValueError) as error:
        raise LaunchError(f"{paths.launch} is damaged: {error}; restore it") from error
    if not isinstance(record, dict):
        raise LaunchError(f"{paths.launch} is damaged: it holds no settings; restore it")
    return record
