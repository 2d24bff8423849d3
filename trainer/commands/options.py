"""Arguments that several commands share: one name and one sentence each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainer.tracking.tracker import Kind

RunName = Annotated[str, typer.Argument(help="A run's folder, its id, or `latest`.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="a.b=value, over the recipe.")]
Track = Annotated[
    Kind | None, typer.Option(help="A tracker that the run is followed into (docs/looking.md).")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
StartingKnobs = Annotated[
    Path | None,
    typer.Option(help="Folder of knob files that a run begins with a copy of; knobs/ by default."),
]
