"""`eau resume`: a run that was stopped or killed goes on."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer
from rich.console import Console

from trainer.commands.ending import leave
from trainer.commands.options import RunName, Track
from trainer.run_folder import RUNS, find_run
from trainer.tracking import backends
from trainer.tracking.beside import beside


def command(run: RunName = "latest", runs: Path = RUNS, track: Track = None) -> None:
    """Go on with a run that was stopped or killed; nothing on file is lost."""
    paths = find_run(run, runs)
    backends.require(track)
    from trainer import following, run_folder, session

    followed = following.follow_where_not_first(run_folder.read_launch(paths))
    if followed is not None:
        raise typer.Exit(followed.exit_code)
    console = Console()
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    with beside(track, say) as follow:
        ending = session.resume(paths, console, adjust=lambda run: follow(run.paths))
    leave(ending, console, paths.root)
