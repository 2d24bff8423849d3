"""`eau track`: a run's steps in a tracker, while it trains or afterwards."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from trainer.commands.options import RunName
from trainer.run_folder import RUNS, find_run
from trainer.tracking import backends, process
from trainer.tracking.backends import BACKENDS
from trainer.tracking.beside import folder_of
from trainer.tracking.tracker import Kind


def command(
    to: Annotated[Kind, typer.Option(help="The tracker.")],
    run: RunName = "latest",
    runs: Path = RUNS,
    beside: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Follow a run into a tracker, from its first step until it ends; no step twice."""
    paths = find_run(run, runs)
    backends.require(to)
    folder = folder_of(paths, to)
    if beside is not None:
        process.stand_back()
    print(f"{to} follows {paths.root.name}: {BACKENDS[to].look(folder, os.environ)}", flush=True)
    try:
        found = process.follow(paths, BACKENDS[to].open, folder, beside=beside)
    except process.TrackerFailed as error:
        print(f"{to} failed: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    print(f"{to} has the run to step {found.step}; {found.because}", flush=True)
