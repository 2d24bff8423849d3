"""`eau train`: a new run from a recipe."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gate.contract.restarts import Fault
from trainer import recipe_file
from trainer.commands.ending import leave
from trainer.commands.options import Sets, StartingKnobs, Track
from trainer.run_folder import RUNS, STARTING_KNOBS
from trainer.tracking import backends
from trainer.tracking.beside import beside


def command(
    recipe: Annotated[str, typer.Argument(help="A built-in recipe or the path of one.")] = "demo",
    sets: Sets = None,
    run_id: Annotated[str | None, typer.Option(help="Name of the run's folder.")] = None,
    runs: Annotated[Path, typer.Option(help="Folder that holds the runs.")] = RUNS,
    starting_knobs: StartingKnobs = None,
    knobs: Annotated[
        Path | None,
        typer.Option(help="Folder of knob files to watch instead; the gate's changes go there."),
    ] = None,
    parent: Annotated[
        str | None, typer.Option(help="The run that this one restarts; five launches are all.")
    ] = None,
    fault: Annotated[
        Fault | None, typer.Option(help="Why: what no change of that run could undo.")
    ] = None,
    track: Track = None,
) -> None:
    """Train a policy from a recipe, with its knobs live under runs/<id>/knobs/.

    A run begins with a copy of the starting set and watches its copy. With --knobs it watches a
    folder of yours: what you save there is in force one step later, and what the gate applies or
    takes back is written there. No two live runs watch one folder.

    Examples: 'eau train demo', 'eau train demo --starting-knobs mine' (a copy of mine),
    'eau train my-recipe.yaml --knobs mine' (mine itself).
    """
    if knobs is not None and starting_knobs is not None:
        raise typer.BadParameter("--knobs watches a folder, --starting-knobs copies one: name one")
    if (parent is None) != (fault is None):
        raise typer.BadParameter("--parent and --fault belong together: a restart names its fault")
    config = recipe_file.load(recipe, sets or [])
    backends.require(track)
    from trainer import following, launch, session
    from trainer.doctor import examination
    from trainer.doctor.finding import Patient

    followed = following.follow_where_not_first(config)
    if followed is not None:
        raise typer.Exit(followed.exit_code)
    console = Console()
    planned = launch.plan(
        config,
        run_id=run_id or session.new_id(config.name),
        runs=runs,
        knob_dir=starting_knobs or STARTING_KNOBS,
        watched=knobs,
    )
    if config.hardware.gpus:
        for line in examination.plan_lines(Patient(config)):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    place = planned.watched or planned.root / "knobs"
    say(f"run {planned.root}: edit {place}/*.yaml at any time")
    with beside(track, say) as follow:
        ending = session.start(
            planned, console, adjust=lambda run: follow(run.paths), parent=parent, fault=fault
        )
    leave(ending, console, planned.root)
