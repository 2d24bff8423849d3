"""`eau demo`: a policy from nothing, and a knob that moves under it."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from trainer.commands.options import Sets
from trainer.run_folder import RUNS


def command(sets: Sets = None, runs: Path = RUNS) -> None:
    """Train a small policy from nothing while a script edits one of its knobs; minutes."""
    from trainer import demo

    ending = demo.run(Console(), runs=runs, overrides=sets or [])
    raise typer.Exit(ending.exit_code)
