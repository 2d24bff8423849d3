"""The study: does training help where training cannot cheat, over several seeds?

Every seed trains the demo's recipe without edits and is then put to the pinned evaluation, at its
start and at its end, on held-out tasks with the same decoding. Results go to `docs/results.md`;
a seed that was finished before is not trained again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from gate.contract import files
from gate.contract.paths import RunPaths
from trainer import documents, examination, launch, progress, recipe_file, run_folder, session
from trainer.evaluation import EvaluationResult
from trainer.figure import curves_svg

RECIPE = "demo"
TRIALS = 2
BLOCK = "study"
FIGURE = Path("figures") / "study.svg"
"""Place of the learning curves, beside the first document."""


@dataclass(frozen=True)
class Cell:
    """One seed of the study."""

    seed: int
    run: str
    start: EvaluationResult
    end: EvaluationResult
    curve: tuple[float, ...]
    """Training success of the steps that had any."""
    minutes: float
    """Time of training steps, without start and evaluation."""

    @property
    def gain(self) -> float:
        """Success at the end less success at the start."""
        return self.end.known_success - self.start.known_success


def run(
    console: Console, *, runs: Path, num_seeds: int, overrides: Sequence[str] = ()
) -> list[Cell]:
    """Train and evaluate every seed that has no result yet; return all of them."""
    cells: list[Cell] = []
    for seed in range(num_seeds):
        config = recipe_file.load(RECIPE, [*overrides, f"seed={seed}"])
        root = runs / f"study-{config.name}-s{seed}"
        if not (root / "run.yaml").is_file():
            console.rule(f"seed {seed}")
            planned = launch.plan(config, run_id=root.name, runs=runs)
            session.start(planned, console)
        else:
            paths = run_folder.find_run(root)
            status = json.loads(paths.status.read_bytes())
            if status["phase"] != "finished":
                session.resume(paths, console)
        cells.append(_evaluated(RunPaths(root), seed))
        console.print(_row(cells[-1]), highlight=False)
    return cells


def markdown(cells: Sequence[Cell]) -> str:
    """Return the study's table and what it does not show."""
    first = cells[0]
    gains = [cell.gain for cell in cells]
    mean = sum(gains) / len(gains)
    rows = "\n".join(_row(cell) for cell in cells)
    return (
        f"{len(cells)} seeds of recipe `{RECIPE}`, pinned evaluation on {first.start.num_tasks} "
        f"held-out tasks, {TRIALS} episodes each, {first.start.decoding}, no fault planted. "
        f"Gain: mean {mean:+.3f}, smallest {min(gains):+.3f}.\n\n"
        "| seed | start (95%) | end (95%) | gain | minutes | training success |\n"
        "|---|---|---|---|---|---|\n"
        f"{rows}\n\n"
        "Made by `make study`. Intervals are Wilson's over episodes; two episodes of a task are "
        "not independent, so they are a little too narrow. The tasks are synthetic and of the "
        "small tier, the user is symbolic, and the model learnt its language from scripted "
        "players: this shows that the trainer learns, not that an agent is useful.\n"
    )


def publish(cells: Sequence[Cell], pages: Sequence[Path]) -> None:
    """Write the study's table into the documents given, and its figure beside the first.

    Raises:
        DocumentError: if a document has no place for the study's block.
    """
    for page in pages:
        if not documents.replace_block(page, BLOCK, markdown(cells)):
            raise documents.DocumentError(f"{page} has no block named {BLOCK}; add its markers")
    for page in pages[:1]:
        target = page.parent / FIGURE
        target.parent.mkdir(exist_ok=True)
        curves = {f"seed {cell.seed}": cell.curve for cell in cells}
        svg = curves_svg(curves, title="Training success by step, recipe demo, no edits")
        files.write_whole(target, svg.encode())


def _evaluated(paths: RunPaths, seed: int) -> Cell:
    records = files.read_lines(paths.steps).records
    start, _ = examination.evaluate(paths, checkpoint_step=0, trials=TRIALS)
    end, _ = examination.evaluate(paths, trials=TRIALS)
    return Cell(
        seed=seed,
        run=paths.root.name,
        start=start,
        end=end,
        curve=progress.success_curve(records),
        minutes=round(sum(float(record["step_s"]) for record in records) / 60, 1),
    )


def _row(cell: Cell) -> str:
    return (
        f"| {cell.seed} | {_share(cell.start)} | {_share(cell.end)} | {cell.gain:+.3f} | "
        f"{cell.minutes:.1f} | {progress.sparkline(cell.curve, width=25)} |"
    )


def _share(result: EvaluationResult) -> str:
    low, high = result.interval
    return f"{result.known_success:.3f} ({low:.2f} to {high:.2f})"
