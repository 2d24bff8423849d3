"""`eau bench`: measurements of this machine and this code."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer
from rich.console import Console

from trainer.bench import BENCHES, report
from trainer.commands.options import AsJson


def command(
    only: Annotated[
        list[str] | None, typer.Option(help=f"Run only this one: {', '.join(BENCHES)}.")
    ] = None,
    gpu: Annotated[
        bool,
        typer.Option("--gpu", help="Train on the device for some steps, beside its floors."),
    ] = False,
    device: Annotated[
        Literal["cuda", "cpu"], typer.Option(help="With --gpu: where to train.")
    ] = "cuda",
    size: Annotated[
        Literal["0.5b", "tiny"], typer.Option(help="With --gpu: which model.")
    ] = "0.5b",
    steps: Annotated[int, typer.Option(min=1, help="With --gpu: steps that count.")] = 4,
    sampler: Annotated[
        Literal["local", "sglang"], typer.Option(help="With --gpu: who writes the turns.")
    ] = "local",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure speed and overhead, as ratios within one run (docs/benchmarks.md)."""
    if gpu:
        _on_device(device, size, steps, sampler, as_json=as_json)
        return
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


def _on_device(device: str, size: str, steps: int, sampler: str, *, as_json: bool) -> None:
    from trainer import assembly
    from trainer.bench import accelerator

    assembly.quiet()
    about = report.machine()
    able, figures = accelerator.measure(
        size, device=device, steps=steps, sampler=sampler, console=Console(stderr=True)
    )
    results = {f"{size} on {able.name}": figures}
    if as_json:
        print(json.dumps(report.to_json(results, about), ensure_ascii=False))
    else:
        report.show(Console(), results, about)
        print(f"{size} with random weights on {able.name}, sampler {sampler}")
