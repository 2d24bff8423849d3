"""`eau grid`: every method alone and with EAU, over seeds, in worlds clean and faulty."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from trainer.run_folder import RUNS


def command(
    seeds: Annotated[
        int, typer.Option(help="How many seeds; a world has no more than it declares.")
    ] = 5,
    only: Annotated[str, typer.Option(help="Shell pattern of the cells to run.")] = "*",
    jobs: Annotated[int, typer.Option(help="Cells that run at once.")] = 1,
    runs: Path = RUNS,
    publish: Annotated[
        Path | None, typer.Option(help="Document whose grid block is rewritten.")
    ] = None,
) -> None:
    """Run the cells of the study of methods that have no result yet; tell what they show."""
    from trainer import grid, grid_table

    results = grid.run(Console(), runs=runs, seeds=range(seeds), pattern=only, jobs=jobs)
    print(grid_table.markdown(results))
    if publish is not None:
        grid_table.publish(results, publish)
