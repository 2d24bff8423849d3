"""Finding a run by what a person calls it.

A run is named by its directory, by its name under `runs/`, or as `latest`. Nothing here reads more
of a run than which files it has.
"""

from __future__ import annotations

from pathlib import Path

from gate.contract.paths import RunPaths
from skill import fence

RUNS = Path("runs")


class NoRun(ValueError):
    """There is no run of that name; says which there are."""


def find_run(name: str, runs: Path = RUNS) -> RunPaths:
    """Return the paths of a run.

    Args:
        name: A directory, a name under `runs`, or `latest`.
        runs: Where runs live.

    Raises:
        NoRun: if no such directory holds the records of a run.
    """
    for place in (Path(name), runs / name):
        paths = RunPaths(place)
        if paths.launch.is_file() or paths.steps.is_file() or paths.status.is_file():
            return paths
    known = sorted(fence.name(child.name) for child in runs.glob("*") if child.is_dir())[-8:]
    told = f"runs here: {', '.join(known)}" if known else f"there are no runs in {runs}/ here"
    raise NoRun(f"{name!r} is no run: a run has run.yaml and steps.jsonl; {told}")
