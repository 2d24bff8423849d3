"""`eau demo`: a policy from nothing, and a fault that is noticed and mended under it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer
from rich.console import Console

from trainer.commands.options import Sets, Track
from trainer.run_folder import RUNS
from trainer.tracking import backends
from trainer.tracking.beside import beside


def command(sets: Sets = None, runs: Path = RUNS, track: Track = None) -> None:
    """Train a small policy while a planted fault is noticed, mended and judged; minutes."""
    backends.require(track)
    from trainer import demo

    console = Console()
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    with beside(track, say) as follow:
        ending = demo.run(
            console, runs=runs, overrides=sets or [], adjust=lambda run: follow(run.paths)
        )
    raise typer.Exit(ending.exit_code)
