"""`eau evaluate`: the pinned evaluation of a run's policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from trainer.commands.options import AsJson, RunName
from trainer.evaluation import WorldResult
from trainer.official import OfficialResult, Tau2Package
from trainer.run_folder import RUNS, find_run


def command(
    run: RunName = "latest",
    runs: Path = RUNS,
    checkpoint: Annotated[
        int | None, typer.Option(help="Step of the checkpoint; the newest by default.")
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, help="Episodes per task; pass^k is told up to this k.")
    ] = 1,
    limit: Annotated[int | None, typer.Option(help="Only the first so many tasks.")] = None,
    tasks: Annotated[str | None, typer.Option(help="Shell pattern of task ids.")] = None,
    greedy: Annotated[bool, typer.Option(help="Take the likeliest token.")] = False,
    official: Annotated[
        bool, typer.Option(help="Let the package tau2, where installed, score its worlds, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Play the pinned evaluation: held-out tasks, revision 0 of the world, default knobs."""
    paths = find_run(run, runs)
    from trainer import session

    outcome, path = session.evaluate(
        paths,
        checkpoint_step=checkpoint,
        trials=trials,
        limit=limit,
        pattern=tasks,
        greedy=greedy,
        benchmark=Tau2Package() if official else None,
    )
    if as_json:
        print(json.dumps(asdict(outcome)))
        return
    low, high = outcome.interval
    console = Console()
    console.print(
        f"{outcome.policy} version {outcome.policy_version} in {outcome.world}: success "
        f"{outcome.success} (95% {low:.3f} to {high:.3f}, {outcome.finished} episodes of "
        f"{outcome.num_tasks} tasks, {outcome.quarantined} quarantined)\n{path}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if len(outcome.by_world) > 1:
        console.print(_worlds(outcome.by_world))
    if trials > 1:
        console.print(_reliability(outcome.by_world))
    if outcome.official:
        console.print(_official(outcome.official))


def _worlds(by_world: Mapping[str, WorldResult]) -> Table:
    table = Table("world", "trained on", "success (95%)", "reward", "episodes", "quarantined")
    for world, one in by_world.items():
        low, high = one.interval
        table.add_row(
            world,
            "no" if one.held_out else "yes",
            "-" if one.success is None else f"{one.success:.3f} ({low:.3f} to {high:.3f})",
            "-" if one.reward is None else f"{one.reward:.3f}",
            str(one.finished),
            str(one.quarantined),
        )
    return table


def _reliability(by_world: Mapping[str, WorldResult]) -> Table:
    table = Table("world", "k", "pass^k: all of k", "pass@k: any of k", "tasks")
    for world, entry in by_world.items():
        for one in entry.reliability:
            table.add_row(
                world, str(one.k), f"{one.pass_hat:.3f}", f"{one.pass_at:.3f}", str(one.num_tasks)
            )
    return table


def _official(results: Mapping[str, OfficialResult]) -> Table:
    table = Table("world", "official reward", "scored", "as ours", "no judge", "not scored")
    for world, one in results.items():
        reasons = "; ".join(f"{count}: {reason}" for reason, count in one.unscored.items())
        reward = "-" if one.reward is None else f"{one.reward:.3f}"
        counts = (str(one.scored), str(one.agreeing), str(one.unjudged))
        table.add_row(world, reward, *counts, reasons or "-")
    return table
