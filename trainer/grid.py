"""Running the grid: every method alone and with EAU on top, in clean worlds and in faulty ones.

Which cells there are is `trainer.grid_cells`'s, what they amount to `trainer.grid_table`'s; here
they are run, each in a process of its own, and what they reached is stored. A cell that was
finished before is not run again. How a run is trained is not known here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from rich.console import Console

from gate.contract import files
from gate.contract.paths import RunPaths
from trainer import evaluation, examination
from trainer.grid_cells import METHODS, WORLDS, Cell, cells

TRIALS = 2
"""Episodes of each held-out task in the pinned evaluation."""


@dataclass(frozen=True)
class Result:
    """What one cell reached."""

    cell: Cell
    start: float
    """Success of the pinned evaluation before the first step."""
    end: float
    """The same after the last one."""
    steps: int
    action_tokens: int
    minutes: float
    """Time of training steps."""
    curve: tuple[float | None, ...]
    """Training success by step; None where no episode of a step could be finished."""
    interventions: int
    """Proposals that came into force."""
    taken_back: int
    """Changes that a verdict took back."""
    verdicts: tuple[str, ...]
    meta_agent_s: float
    """Time of the meta-agent's ticks."""
    meta_agent_usd: float
    """What they cost."""


def run(
    console: Console,
    *,
    runs: Path,
    seeds: Sequence[int],
    pattern: str = "*",
    jobs: int = 1,
) -> list[Result]:
    """Run the cells that have no result yet, and return all results there are.

    Args:
        console: Where progress is told.
        runs: Folder of the runs.
        seeds: Seeds of the cells.
        pattern: Shell pattern of the names of the cells to run.
        jobs: Cells that run at once, each on a core of its own.
    """
    wanted = [cell for cell in cells(seeds) if fnmatch(cell.name, pattern)]
    missing = [cell for cell in wanted if stored(cell) is None]
    for world, seed in dict.fromkeys((cell.world, cell.seed) for cell in missing):
        _start_of(world, seed, runs, console)
    for first in range(0, len(missing), jobs):
        batch = missing[first : first + jobs]
        console.print(
            f"{first + len(batch)} of {len(missing)}: " + ", ".join(c.name for c in batch)
        )
        started = [(cell, _begin(cell, runs)) for cell in batch]
        for cell, process in started:
            if process.wait() != 0:
                log = runs / f"{cell.name}.log"
                console.print(f"{cell.name} failed; its cell stays empty, see {log}")
                continue
            try:
                _store(_measured(cell, RunPaths(runs / cell.name)))
            except evaluation.EvaluationError as error:
                console.print(f"{cell.name}: {error}; its cell stays empty")
    found = (stored(cell) for cell in cells(seeds))
    return [result for result in found if result is not None]


def stored(cell: Cell) -> Result | None:
    """Return the result of a cell that was run before; None if it was not."""
    path = _place(cell)
    if not path.is_file():
        return None
    values: dict[str, Any] = json.loads(path.read_bytes())
    values["cell"] = Cell(**values["cell"])
    return Result(**{**values, **{key: tuple(values[key]) for key in ("curve", "verdicts")}})


def _place(cell: Cell) -> Path:
    return evaluation.root() / "grid" / f"{cell.name}.json"


def _store(result: Result) -> None:
    path = _place(result.cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_whole(path, files.encode_line(asdict(result)) + b"\n")


def _start_of(world: str, seed: int, runs: Path, console: Console) -> None:
    """Make the policy that every cell of a seed in a world begins with, unless it is there."""
    start = _start(world, seed, runs)
    if not (start / "learner").is_dir():
        console.print(f"making the policy that seed {seed} begins with in {world}")
        sets = [f"seed={seed}", "total_steps=0"]
        _train(WORLDS[world].recipe, start.parents[1].name, runs, sets).wait()


def _start(world: str, seed: int, runs: Path) -> Path:
    return (runs / f"grid-start-{world}-s{seed}" / "checkpoints" / "step-000000").resolve()


def _begin(cell: Cell, runs: Path) -> subprocess.Popen[bytes]:
    """Train a cell in a process of its own, or go on with one that was cut short."""
    if (runs / cell.name / "run.yaml").is_file():
        return _process(["resume", os.fspath(runs / cell.name)], runs / f"{cell.name}.log")
    start = _start(cell.world, cell.seed, runs)
    return _train(METHODS[cell.method], cell.name, runs, cell.overrides(start))


def _train(recipe: str, name: str, runs: Path, sets: Sequence[str]) -> subprocess.Popen[bytes]:
    arguments = ["train", recipe, "--run-id", name, "--runs", os.fspath(runs)]
    arguments += [part for one in sets for part in ("--set", one)]
    return _process(arguments, runs / f"{name}.log")


def _process(arguments: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "trainer", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _started_at(cell: Cell, paths: RunPaths) -> float:
    """Return the success that a cell began with: that of any other that began with its policy."""
    for other in cells([cell.seed]):
        known = stored(other) if other.world == cell.world else None
        if known is not None:
            return known.start
    found, _ = examination.evaluate(paths, checkpoint_step=0, trials=TRIALS)
    return found.known_success


def _measured(cell: Cell, paths: RunPaths) -> Result:
    records = files.read_lines(paths.steps).records
    end, _ = examination.evaluate(paths, trials=TRIALS)
    entries = files.read_lines(paths.ledger).records
    ticks = [json.loads(path.read_bytes()) for path in paths.supervisor.glob("*/tick.json")]
    outcomes = [entry for entry in entries if entry["kind"] == "outcome"]
    return Result(
        cell=cell,
        start=_started_at(cell, paths),
        end=end.known_success,
        steps=len(records),
        action_tokens=sum(int(record["action_tokens"]) for record in records),
        minutes=round(sum(float(record["step_s"]) for record in records) / 60, 2),
        curve=tuple(record["success"] for record in records),
        interventions=sum(entry.get("origin") == "proposal" for entry in entries),
        taken_back=sum(entry.get("rolled_back_by") is not None for entry in outcomes),
        verdicts=tuple(str(entry["verdict"]) for entry in outcomes),
        meta_agent_s=round(sum(float(tick.get("seconds") or 0.0) for tick in ticks), 1),
        meta_agent_usd=sum(float(tick.get("cost_usd") or 0.0) for tick in ticks),
    )
