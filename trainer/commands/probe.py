"""`eau probe`: try a candidate and tell what was found, for a program to read.

The gate starts this as a child process and reads its one line of JSON.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainer.probe import request as requests
from trainer.probe.run import probe


def command(
    request: Annotated[Path, typer.Argument(help="A JSON file that says what to probe.")],
) -> None:
    """Try a candidate world, its rules and its knobs; one line of JSON, for the gate."""
    print(probe(requests.read(request)).line())
