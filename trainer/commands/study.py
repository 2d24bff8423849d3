"""`eau study`: start and end of training over seeds, in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from trainer.commands.options import Sets
from trainer.run_folder import RUNS


def command(
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 3,
    sets: Sets = None,
    runs: Path = RUNS,
    publish: Annotated[
        list[Path] | None, typer.Option(help="Documents whose study block is rewritten.")
    ] = None,
) -> None:
    """Train the demo's recipe over seeds and put start and end to the pinned evaluation."""
    from trainer import study

    cells = study.run(Console(), runs=runs, num_seeds=seeds, overrides=sets or [])
    print(study.markdown(cells))
    study.publish(cells, publish or [])
