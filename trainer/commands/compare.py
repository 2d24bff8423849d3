"""`eau compare`: what runs reached, side by side."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from trainer import compare, measured
from trainer.commands.options import AsJson
from trainer.run_folder import RUNS, find_run


def command(
    names: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Runs' folders or ids, the base first.")
    ],
    runs: Path = RUNS,
    last: Annotated[
        int, typer.Option(min=1, help="How many of the newest steps count.")
    ] = measured.LAST_STEPS,
    as_json: AsJson = False,
) -> None:
    """Compare runs: success over the last steps, with its interval where there are seeds."""
    roots = dict.fromkeys(find_run(name, runs) for name in names)
    found = [measured.measure(paths, last=last) for paths in roots]
    rows, notes = compare.rows(found), compare.notes(found)
    if as_json:
        print(json.dumps({"last": last, "rows": [asdict(one) for one in rows], "notes": notes}))
        return
    compare.show(Console(), rows, notes)
