"""`eau show`: dialogues of a run, for a person or a program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from trainer import show
from trainer.commands.options import AsJson, RunName
from trainer.run_folder import RUNS, find_run


def command(
    run: RunName = "latest",
    runs: Path = RUNS,
    episode: Annotated[str | None, typer.Option(help="Id of one episode.")] = None,
    step: Annotated[int | None, typer.Option(help="Only this step.")] = None,
    failed: Annotated[bool, typer.Option(help="Only episodes without full success.")] = False,
    limit: Annotated[int, typer.Option(help="How many at most.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Read dialogues, the newest first, with events, facts revealed and payments."""
    paths = find_run(run, runs)
    found = show.episodes(paths, step=step, episode=episode, failed=failed, limit=limit)
    if not found:
        print(f"no such episode in {paths.root}; `eau show` without options shows the newest")
        raise typer.Exit(1)
    if as_json:
        for record in found:
            print(json.dumps(record))
        return
    show.show(Console(), found)
