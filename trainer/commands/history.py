"""`eau history`: what came into force in a run and what was found about it, in order of time."""

from __future__ import annotations

import json
from pathlib import Path

import typer
from rich.console import Console

from gate.contract import records
from trainer.commands.options import AsJson, RunName
from trainer.looking import chronicle
from trainer.looking.reading import Reader
from trainer.run_folder import RUNS, find_run


def command(run: RunName = "latest", runs: Path = RUNS, as_json: AsJson = False) -> None:
    """List what came into force and what was found, a line each, with effect and interval."""
    reading = Reader(find_run(run, runs)).read()
    found = list(chronicle.lines(reading))
    if as_json:
        told = [records.to_json(one) for one in found]
        line = {"run": reading.run, "lines": told, "damage": list(reading.damage)}
        print(json.dumps(line, ensure_ascii=False))
    else:
        chronicle.show(Console(), found)
        for sentence in reading.damage:
            typer.echo(sentence, err=True)
    if reading.past is None:
        raise typer.Exit(1)
