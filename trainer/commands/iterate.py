"""`eau iterate`: launches of one experiment, each under a meta-agent, five at most."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gate.contract.launch_record import MOST_ATTEMPTS
from trainer import iteration, recipe_file
from trainer.commands.options import Sets, StartingKnobs, Track
from trainer.run_folder import RUNS, STARTING_KNOBS
from trainer.tracking import backends


def command(
    recipe: Annotated[str, typer.Argument(help="A built-in recipe or the path of one.")] = "demo",
    launches: Annotated[
        int, typer.Option("--runs", min=1, max=MOST_ATTEMPTS, help="Launches, aborted ones too.")
    ] = MOST_ATTEMPTS,
    agent: Annotated[
        str | None, typer.Option(help="operator, naive, claude, codex or a command.")
    ] = None,
    every: Annotated[int | None, typer.Option(min=1, help="Steps between two ticks.")] = None,
    autonomy: Annotated[str | None, typer.Option(help="watch, propose or act.")] = None,
    sets: Sets = None,
    name: Annotated[str | None, typer.Option(help="Name of the experiment.")] = None,
    folder: Annotated[Path, typer.Option("--runs-dir", help="Folder that holds the runs.")] = RUNS,
    starting_knobs: StartingKnobs = None,
    track: Track = None,
) -> None:
    """Launch a run under a meta-agent, again only for a named fault; five at most.

    A restart is asked for by `skill/eau-meta-agent/scripts/restart.py`. Proven knobs and lessons
    go along. Five launches are all that an experiment has.

    Examples: 'eau iterate demo --agent operator', 'eau iterate planted --runs 3 --agent claude'.
    """
    chosen = {"agent": agent or "operator", "every": every, "autonomy": autonomy}
    mine = [f"meta_agent.{key}={value}" for key, value in chosen.items() if value is not None]
    config = recipe_file.load(recipe, [*(sets or []), *mine])
    backends.require(track)
    followed = ("--track", track.value) if track else ()
    from trainer import session

    plan = iteration.Plan(
        recipe=recipe,
        name=name or session.new_id(config.name),
        runs=folder,
        launches=launches,
        agent=config.meta_agent.agent or "",
        sets=(*(sets or ()), *mine),
        arguments=("--starting-knobs", str(starting_knobs or STARTING_KNOBS), *followed),
    )
    told = iteration.Experiment(plan, say=lambda sentence: print(sentence, flush=True))
    raise typer.Exit(told.run())
