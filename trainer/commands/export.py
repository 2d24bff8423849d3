"""`eau export`: a run's policy as a Hugging Face directory."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trainer.commands.options import RunName
from trainer.run_folder import RUNS, find_run


class Dtype(StrEnum):
    """What exported weights are stored in."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


def command(
    run: RunName,
    directory: Annotated[Path, typer.Argument(help="The directory to make.")],
    checkpoint: Annotated[
        int | None, typer.Option(help="Step of the checkpoint; the newest whole one unless given.")
    ] = None,
    dtype: Annotated[
        Dtype, typer.Option(help="What the weights are stored in; training keeps float32.")
    ] = Dtype.FLOAT32,
    adapter_only: Annotated[
        bool,
        typer.Option("--adapter", help="Write the adapters of a LoRA run alone, as peft reads."),
    ] = False,
    runs: Annotated[Path, typer.Option(help="Folder that holds the runs.")] = RUNS,
) -> None:
    """Write a run's policy as a Hugging Face directory, whole, however many ranks trained it."""
    paths = find_run(run, runs)
    from trainer import assembly, export

    assembly.quiet()
    used = export.export(
        paths, directory, step=checkpoint, dtype=dtype.value, adapter_only=adapter_only
    )
    print(f"{directory}: the policy of {paths.root.name}/{used.name}")
