"""`eau bench`: run measurements and print them. This module only reads arguments and prints."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from trainer.bench import BENCHES, report


def bench(
    only: Annotated[
        list[str] | None, typer.Option(help=f"Run only this one: {', '.join(BENCHES)}.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program.")] = False,
) -> None:
    """Measure speed and overhead, as ratios within one run (docs/benchmarks.md)."""
    names = list(BENCHES) if only is None else only
    for name in names:
        if name not in BENCHES:
            raise typer.BadParameter(f"no {name!r}; choose from {', '.join(BENCHES)}")
    about, results = report.machine(), {}
    progress = Console(stderr=True)
    with progress.status("measuring") as spinner:
        for name in names:
            spinner.update(f"{name}: {BENCHES[name].question}")
            results[name] = (BENCHES[name].quick if quick else BENCHES[name].full)()
    if as_json:
        print(json.dumps(report.to_json(results, about), ensure_ascii=False))
    else:
        report.show(Console(), results, about)
