"""`eau bench`: measurements of this machine and this code."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from trainer.bench import BENCHES, report
from trainer.commands.options import AsJson


def command(
    only: Annotated[
        list[str] | None, typer.Option(help=f"Run only this one: {', '.join(BENCHES)}.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure speed and overhead, as ratios within one run (docs/benchmarks.md)."""
    names = list(BENCHES) if only is None else only
    for name in names:
        if name not in BENCHES:
            raise typer.BadParameter(f"no {name!r}; choose from {', '.join(BENCHES)}")
    from trainer import assembly

    assembly.quiet()
    about, results = report.machine(), {}
    progress = Console(stderr=True)
    with progress.status("measuring") as spinner:
        for name in names:
            spinner.update(f"{name}: {BENCHES[name].question}")
            results[name] = BENCHES[name].measure(quick=quick)
    if as_json:
        print(json.dumps(report.to_json(results, about), ensure_ascii=False))
    else:
        report.show(Console(), results, about)
