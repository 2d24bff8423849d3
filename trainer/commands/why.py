"""`eau why`: what a training step was played under, and where that came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gate.contract import records
from trainer.commands.options import AsJson, RunName
from trainer.looking import account, why
from trainer.looking.reading import Reader
from trainer.run_folder import RUNS, find_run


def command(
    run: RunName,
    step: Annotated[int, typer.Argument(help="A training step on record.")],
    runs: Path = RUNS,
    as_json: AsJson = False,
) -> None:
    """Tell what was in force in a step, who put it there and why, and what it had shown."""
    found = why.account(Reader(find_run(run, runs)).read(), step)
    if as_json:
        print(json.dumps(records.to_json(found), ensure_ascii=False))
        return
    account.show(Console(), found)
