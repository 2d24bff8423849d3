"""`eau schedule`: rollout schedules on a simulated fleet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from trainer.commands.options import AsJson


def command(
    nodes: Annotated[int, typer.Option(min=1, help="Engines of the fleet.")] = 64,
    steps: Annotated[int, typer.Option(min=1, help="Training steps.")] = 12,
    seed: Annotated[int, typer.Option(help="Seed of all chance.")] = 0,
    publish: Annotated[
        Path | None, typer.Option(help="A page whose block `schedules` gets the tables.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate rollout schedules on a fleet: what stragglers and uneven dialogues cost."""
    from trainer import documents
    from trainer.scheduling import table

    results = table.simulate(nodes=nodes, steps=steps, seed=seed)
    if as_json:
        values = {
            condition: {name: one._asdict() for name, one in found.items()}
            for condition, found in results.items()
        }
        print(json.dumps(values))
        return
    text = table.markdown(results, nodes=nodes, steps=steps, seed=seed)
    print(text)
    if publish is not None and not documents.replace_block(publish, "schedules", text):
        raise typer.BadParameter(f"{publish} has no place for the block `schedules`")
