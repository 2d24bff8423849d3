"""`eau watch`: a run on the terminal, live."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from trainer.commands.options import RunName
from trainer.looking import watch
from trainer.run_folder import RUNS


def command(
    run: RunName = "latest",
    runs: Path = RUNS,
    once: Annotated[bool, typer.Option("--once", help="Print it once and leave.")] = False,
) -> None:
    """Watch a run: success, what is in force, open tests, health and news; until it ends."""
    console = Console()
    if once or not console.is_terminal:
        watch.once(console, run, runs)
    else:
        watch.follow(console, run, runs)
