"""`eau doctor`: what stands in the way of a run, before it starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trainer import recipe_file
from trainer.commands.options import AsJson, Sets, StartingKnobs
from trainer.run_folder import RUNS, STARTING_KNOBS

_STYLES = {"ok": "green", "unknown": "cyan", "doubt": "yellow", "fault": "bold red"}


def command(
    recipe: Annotated[
        str | None, typer.Argument(help="A built-in recipe or the path of one; none: the machine.")
    ] = None,
    sets: Sets = None,
    runs: Annotated[Path, typer.Option(help="Folder that holds the runs.")] = RUNS,
    starting_knobs: StartingKnobs = None,
    as_json: AsJson = False,
) -> None:
    """Check machine, recipe, models, keys and services before a run; exit code 1 for a fault."""
    config = None if recipe is None else recipe_file.load(recipe, sets or [])
    if config is None and sets:
        raise typer.BadParameter("--set changes a recipe: name one")
    from trainer import assembly
    from trainer.doctor import examination
    from trainer.doctor.finding import Patient

    assembly.quiet()
    patient = Patient(config, runs, starting_knobs or STARTING_KNOBS, gpus=examination.seen_gpus)
    findings = examination.examine(patient)
    fit = examination.is_fit(findings)
    if as_json:
        print(json.dumps(examination.to_json(patient, findings), ensure_ascii=False))
        raise typer.Exit(0 if fit else 1)
    console = Console()
    table = Table("check", "", "what was found", box=None, pad_edge=False)
    for one in findings:
        level = Text(one.level.value, style=_STYLES[one.level.value])
        table.add_row(one.check, level, Text(one.told, overflow="fold"))
    console.print(table)
    if lines := examination.plan_lines(patient):
        console.print("\nmemory plan")
        for line in lines:
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    if config is not None:
        console.print("\nnot checked")
        for line in examination.NOT_CHECKED:
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(0 if fit else 1)
