"""`eau evaluate`: the pinned evaluation of a run's policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from trainer.commands.options import AsJson, RunName
from trainer.evaluation import EvaluationResult, WorldResult
from trainer.evaluation_judge import RULES
from trainer.evaluation_user import PINNED
from trainer.official import OfficialResult, Tau2Package
from trainer.run_folder import RUNS, find_run, read_launch


class EvaluationUser(StrEnum):
    """Who plays the user of an evaluation."""

    SYMBOLIC = "symbolic"
    ENDPOINT = "endpoint"
    """The served model that the recipe names under `users.evaluation`."""


class EvaluationJudge(StrEnum):
    """Who decides what worlds leave to a judge."""

    RULES = "rules"
    ENDPOINT = "endpoint"
    """The served model that the recipe names under `judge.evaluation`."""


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
    user: Annotated[
        EvaluationUser, typer.Option(help="Who plays the user; only `symbolic` is the pinned test.")
    ] = EvaluationUser.SYMBOLIC,
    endpoint: Annotated[
        list[str] | None,
        typer.Option(help="key=value over users.evaluation of the recipe, such as model=NAME."),
    ] = None,
    judge: Annotated[
        EvaluationJudge, typer.Option(help="Who judges; only `rules` is the pinned test.")
    ] = EvaluationJudge.RULES,
    judge_endpoint: Annotated[
        list[str] | None,
        typer.Option(help="key=value over judge.evaluation of the recipe, such as model=NAME."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play the pinned evaluation: held-out tasks, revision 0 of the world, default knobs."""
    _refuse_idle(user, endpoint, judge, judge_endpoint)
    paths = find_run(run, runs)
    from trainer import examination

    asked = None
    if user is EvaluationUser.ENDPOINT:
        asked = examination.asked(read_launch(paths).users, endpoint or [])
    judging = None
    if judge is EvaluationJudge.ENDPOINT:
        judging = examination.asked_judge(read_launch(paths).judge, judge_endpoint or [])
    outcome, path = examination.evaluate(
        paths,
        checkpoint_step=checkpoint,
        trials=trials,
        limit=limit,
        pattern=tasks,
        greedy=greedy,
        benchmark=Tau2Package() if official else None,
        user=asked,
        judge=judging,
    )
    if as_json:
        print(json.dumps(asdict(outcome)))
        return
    _tell(Console(), outcome, path)


def _refuse_idle(
    user: EvaluationUser,
    endpoint: list[str] | None,
    judge: EvaluationJudge,
    judge_endpoint: list[str] | None,
) -> None:
    """Refuse settings of a service that nothing would ask."""
    if endpoint and user is EvaluationUser.SYMBOLIC:
        raise typer.BadParameter(
            "--endpoint says how a served user is reached: add --user endpoint"
        )
    if judge_endpoint and judge is EvaluationJudge.RULES:
        raise typer.BadParameter(
            "--judge-endpoint says how a judge is reached: add --judge endpoint"
        )


def _tell(console: Console, outcome: EvaluationResult, path: Path) -> None:
    low, high = outcome.interval
    console.print(
        f"{outcome.policy} version {outcome.policy_version} in {outcome.world}: success "
        f"{outcome.success} (95% {low:.3f} to {high:.3f}, {outcome.finished} episodes of "
        f"{outcome.num_tasks} tasks, {outcome.quarantined} quarantined)\n{path}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if outcome.user != PINNED:
        told = f"user: {outcome.user}, not the pinned one; {dict(outcome.endpoint)}"
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    if outcome.judge != RULES:
        told = f"judge: {outcome.judge}, not the rules; {dict(outcome.judge_endpoint)}"
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    if len(outcome.by_world) > 1:
        console.print(_worlds(outcome.by_world))
    if outcome.trials > 1:
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
