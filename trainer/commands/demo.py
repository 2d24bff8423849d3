"""`eau demo`: a policy from nothing, and a fault that is noticed and mended under it."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from trainer.commands.options import Sets
from trainer.run_folder import RUNS


def command(sets: Sets = None, runs: Path = RUNS) -> None:
    """Train a small policy while a planted fault is noticed, mended and judged; minutes."""
    from trainer import demo

    ending = demo.run(Console(), runs=runs, overrides=sets or [])
    raise typer.Exit(ending.exit_code)
