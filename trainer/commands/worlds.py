"""`eau worlds`: the worlds there are, with two players' scores."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from trainer import world_table
from trainer.commands.options import AsJson
from trainer.worlds import catalog


def command(
    only: Annotated[list[str] | None, typer.Option("--world", help="Only this one.")] = None,
    num_tasks: Annotated[
        int, typer.Option("--tasks", min=1, help="Tasks that each of the two players plays.")
    ] = world_table.NUM_TASKS,
    as_json: AsJson = False,
) -> None:
    """List the worlds, and what their oracle and their idle player score."""
    names = list(only or catalog.WORLDS)
    for name in names:
        if name not in catalog.WORLDS:
            raise typer.BadParameter(f"no {name!r}; choose from {', '.join(catalog.WORLDS)}")
    rows = [world_table.played(name, num_tasks) for name in names]
    if as_json:
        print(json.dumps([asdict(one) for one in rows]))
        return
    world_table.show(Console(), rows)
