"""`eau twins`: what one proposal does, by two runs from one checkpoint that differ in it alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from trainer.commands.options import RunName
from trainer.run_folder import RUNS, find_run, read_launch


def command(
    run: RunName = "latest",
    proposal: Annotated[int, typer.Option(min=1, help="The proposal's number.")] = 1,
    steps: Annotated[int, typer.Option(min=1, help="Training steps of each twin.")] = 40,
    runs: Path = RUNS,
) -> None:
    """Train two twins of a run from its newest checkpoint, and tell the verdict on its ledger.

    The one plays on under the old values of a proposal, the other under the new ones, with the
    same tasks and seeds. They lie beside the run as <id>-twin-old and <id>-twin-new, and count as
    no attempt. One pair is one draw: what it shows holds for this checkpoint and these seeds.

    Example: 'eau twins latest --proposal 3 --steps 60'.
    """
    paths = find_run(run, runs)
    from gate.guard import twins as judging
    from trainer import session, twins

    console = Console()
    worlds = tuple(read_launch(paths).worlds)
    pair = judging.pair(paths, proposal, worlds=worlds)
    born = twins.bear(paths, pair, steps=steps, now=time.time())
    for child in (born.old, born.new):
        ending = session.resume(child, console)
        if ending is not session.Ending.FINISHED:
            console.print(f"{child.root.name}: {ending.value}; no verdict", markup=False)
            raise typer.Exit(1)
    told = judging.conclude(
        paths, pair, (born.old, born.new), first=born.first, worlds=worlds, now=time.time()
    )
    console.print(f"{told.verdict}: {told.because}", markup=False, highlight=False)
