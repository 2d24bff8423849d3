"""`eau resume`: a run that was stopped or killed goes on."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from trainer.commands.ending import leave
from trainer.commands.options import RunName
from trainer.run_folder import RUNS, find_run


def command(run: RunName = "latest", runs: Path = RUNS) -> None:
    """Go on with a run that was stopped or killed; nothing on file is lost."""
    paths = find_run(run, runs)
    from trainer import following, run_folder, session

    followed = following.follow_where_not_first(run_folder.read_launch(paths))
    if followed is not None:
        raise typer.Exit(followed.exit_code)
    console = Console()
    ending = session.resume(paths, console)
    leave(ending, console, paths.root)
