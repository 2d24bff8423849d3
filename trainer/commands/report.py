"""`eau report`: one page about a run, as one file to hand on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from gate.contract import files
from trainer.commands.options import RunName
from trainer.looking.reading import Reader
from trainer.looking.report import sections
from trainer.run_folder import RUNS, find_run


def command(
    run: RunName = "latest",
    runs: Path = RUNS,
    out: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="The file to write; by default RUN-report.html, here."),
    ] = None,
) -> None:
    """Write one page about a run: curves, history, tests, dialogues; it loads nothing."""
    reading = Reader(find_run(run, runs)).read()
    target = out or Path(f"{reading.run}-report.html")
    content = sections.write(reading, now=time.time()).encode()
    if target.exists() and not target.is_file():
        # A pipe or a device is written to, never replaced by a file.
        target.write_bytes(content)
        return
    try:
        files.write_whole(target, content)
    except files.DiskFull:
        raise
    except OSError as error:
        raise typer.BadParameter(
            f"{str(target)!r} cannot be written: {error.strerror}; name another file",
            param_hint="--out",
        ) from error
    print(target)
