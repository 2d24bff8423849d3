"""`eau`: train, resume, evaluate and look at runs.

Exit codes: 0 done, 1 a run failed or nothing was found, 2 a recipe, task file, checkpoint or
argument that cannot be used (nothing was written). This module only reads arguments and prints.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gate.contract.files import DiskFull
from gate.contract.findings import Refused
from trainer import (
    assembly,
    compare,
    demo,
    documents,
    launch,
    measured,
    recipe_file,
    resume,
    session,
    show,
    study,
    world_table,
)
from trainer.bench.command import bench
from trainer.checkpoint import CheckpointError
from trainer.documents import DocumentError
from trainer.evaluation import EvaluationError
from trainer.loop import Ending
from trainer.users.rule_file import RuleFileError
from trainer.worlds import catalog

MISUSE = 2
UNUSABLE = (
    recipe_file.RecipeError,
    launch.LaunchError,
    resume.ResumeError,
    CheckpointError,
    EvaluationError,
    measured.MeasureError,
    Refused,
    RuleFileError,
    DocumentError,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Co-evolve an agent, its environment and its user while PPO is running.",
)

Recipe = Annotated[str, typer.Argument(help="A built-in recipe or the path of one.")]
RunName = Annotated[str, typer.Argument(help="A run's folder, its id, or `latest`.")]
Sets = Annotated[list[str] | None, typer.Option("--set", help="a.b=value, over the recipe.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]


@app.command()
def train(
    recipe: Recipe = "demo",
    sets: Sets = None,
    run_id: Annotated[str | None, typer.Option(help="Name of the run's folder.")] = None,
    runs: Annotated[Path, typer.Option(help="Folder that holds the runs.")] = launch.RUNS,
    knobs: Annotated[
        Path, typer.Option(help="Folder of the starting knob files.")
    ] = launch.STARTING_KNOBS,
) -> None:
    """Train a policy from a recipe, with its knobs live under runs/<id>/knobs/."""
    console = Console()
    config = recipe_file.load(recipe, sets or [])
    planned = launch.plan(
        config, run_id=run_id or session.new_id(config.name), runs=runs, knob_dir=knobs
    )
    told = f"run {planned.root}: edit {planned.root}/knobs/*.yaml at any time"
    console.print(told, markup=False, highlight=False, soft_wrap=True)
    ending = session.start(planned, console)
    _leave(ending, console, planned.root)


@app.command(name="resume")
def resume_run(run: RunName = "latest", runs: Path = launch.RUNS) -> None:
    """Go on with a run that was stopped or killed; nothing on file is lost."""
    console = Console()
    paths = launch.find_run(run, runs)
    ending = session.resume(paths, console)
    _leave(ending, console, paths.root)


@app.command()
def evaluate(
    run: RunName = "latest",
    runs: Path = launch.RUNS,
    checkpoint: Annotated[
        int | None, typer.Option(help="Step of the checkpoint; the newest by default.")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Episodes per task.")] = 1,
    limit: Annotated[int | None, typer.Option(help="Only the first so many tasks.")] = None,
    tasks: Annotated[str | None, typer.Option(help="Shell pattern of task ids.")] = None,
    greedy: Annotated[bool, typer.Option(help="Take the likeliest token.")] = False,
    as_json: AsJson = False,
) -> None:
    """Play the pinned evaluation: held-out tasks, revision 0 of the world, default knobs."""
    outcome, path = session.evaluate(
        launch.find_run(run, runs),
        checkpoint_step=checkpoint,
        repeats=repeats,
        limit=limit,
        pattern=tasks,
        greedy=greedy,
    )
    if as_json:
        print(json.dumps(asdict(outcome)))
        return
    low, high = outcome.interval
    Console().print(
        f"{outcome.policy} version {outcome.policy_version} in {outcome.world}: success "
        f"{outcome.success} (95% {low:.3f} to {high:.3f}, {outcome.finished} episodes of "
        f"{outcome.num_tasks} tasks, {outcome.quarantined} quarantined)\n{path}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


@app.command(name="show")
def show_episodes(
    run: RunName = "latest",
    runs: Path = launch.RUNS,
    episode: Annotated[str | None, typer.Option(help="Id of one episode.")] = None,
    step: Annotated[int | None, typer.Option(help="Only this step.")] = None,
    failed: Annotated[bool, typer.Option(help="Only episodes without full success.")] = False,
    limit: Annotated[int, typer.Option(help="How many at most.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Read dialogues, the newest first, with events, facts revealed and payments."""
    paths = launch.find_run(run, runs)
    found = show.episodes(paths, step=step, episode=episode, failed=failed, limit=limit)
    if not found:
        print(f"no such episode in {paths.root}; `eau show` without options shows the newest")
        raise typer.Exit(1)
    if as_json:
        for record in found:
            print(json.dumps(record))
        return
    show.show(Console(), found)


@app.command(name="compare")
def compare_runs(
    names: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Runs' folders or ids, the base first.")
    ],
    runs: Path = launch.RUNS,
    last: Annotated[
        int, typer.Option(min=1, help="How many of the newest steps count.")
    ] = measured.LAST_STEPS,
    as_json: AsJson = False,
) -> None:
    """Compare runs: success over the last steps, with its interval where there are seeds."""
    roots = dict.fromkeys(launch.find_run(name, runs) for name in names)
    found = [measured.measure(paths, last=last) for paths in roots]
    rows, notes = compare.rows(found), compare.notes(found)
    if as_json:
        print(json.dumps({"last": last, "rows": [asdict(one) for one in rows], "notes": notes}))
        return
    compare.show(Console(), rows, notes)


@app.command(name="demo")
def run_demo(sets: Sets = None, runs: Path = launch.RUNS) -> None:
    """Train a small policy from nothing while a script edits one of its knobs; minutes."""
    console = Console()
    ending = demo.run(console, runs=runs, overrides=sets or [])
    raise typer.Exit(1 if ending is Ending.FAILED else 0)


@app.command(name="study")
def run_study(
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 3,
    sets: Sets = None,
    runs: Path = launch.RUNS,
    publish: Annotated[
        list[Path] | None, typer.Option(help="Documents whose study block is rewritten.")
    ] = None,
) -> None:
    """Train the demo's recipe over seeds and put start and end to the pinned evaluation."""
    console = Console()
    cells = study.run(console, runs=runs, num_seeds=seeds, overrides=sets or [])
    print(study.markdown(cells))
    study.publish(cells, publish or [])


@app.command()
def recipes() -> None:
    """List the built-in recipes."""
    for name in recipe_file.names():
        print(name)


@app.command(name="worlds")
def list_worlds(
    only: Annotated[list[str] | None, typer.Option("--world", help="Only this one.")] = None,
    num_tasks: Annotated[
        int, typer.Option("--tasks", min=1, help="Tasks that each of the two players plays.")
    ] = world_table.NUM_TASKS,
    as_json: AsJson = False,
) -> None:
    """List the worlds, and what their oracle and their idle player score."""
    names = list(only or catalog.WORLDS)
    for name in names:
        if name not in catalog.WORLDS:
            raise typer.BadParameter(f"no {name!r}; choose from {', '.join(catalog.WORLDS)}")
    rows = [world_table.played(name, num_tasks) for name in names]
    if as_json:
        print(json.dumps([asdict(one) for one in rows]))
        return
    world_table.show(Console(), rows)


@app.command(name="docs")
def make_docs(
    check: Annotated[bool, typer.Option("--check", help="Only tell; exit 1 if any.")] = False,
) -> None:
    """Write the generated documents anew, or tell which do not say what the code says."""
    found = documents.stale() if check else documents.rewrite()
    for path in found:
        print(f"{'stale' if check else 'written'}: {path}")
    raise typer.Exit(1 if check and found else 0)


app.command()(bench)


def _leave(ending: Ending, console: Console, root: Path) -> None:
    console.print(f"{ending.value}: {root}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1 if ending is Ending.FAILED else 0)


def main() -> None:
    """Run the command line; every expected fault is one message and an exit code."""
    assembly.quiet()
    try:
        app()
    except UNUSABLE as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(MISUSE)
    except DiskFull as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
