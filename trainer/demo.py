"""The demo: a policy from nothing, a planted fault that is mended, and a knob moved by hand.

The fault belongs to the recipe and is told as planted; the rule-based operator runs beside the
trainer and has no word of it but the records. A second process plays the person: it waits for a
step and saves one knob file in place, as an editor would. What is printed at the end comes from
the run's records alone.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from gate.contract import files
from gate.contract.paths import RunPaths
from trainer import launch, progress, recipe_file, session, story
from trainer.loop import Ending

RECIPE = "planted"
EDIT_AFTER_STEP = 44
KNOB, BEFORE, AFTER = "user_strategy_mix", "1.0", "0.75"
WINDOW = 10
"""Steps over which a mean of the curve is taken."""
POLL_S = 0.2
PATIENCE_S = 1800.0


def run(
    console: Console,
    *,
    runs: Path,
    overrides: Sequence[str] = (),
    adjust: session.Adjust | None = None,
) -> Ending:
    """Train the recipe with the planted fault while a second process edits a knob; tell all.

    Args:
        console: Where to print.
        runs: Folder that holds the runs.
        overrides: `a.b=value` over the recipe.
        adjust: A last word on the run before it trains.
    """
    config = recipe_file.load(RECIPE, overrides)
    planned = launch.plan(config, run_id=session.new_id(config.name), runs=runs)
    console.print(
        f"[bold]{planned.root}[/]: PPO from nothing; the operator looks in every "
        f"{config.meta_agent.every} steps; after step {EDIT_AFTER_STEP} a script saves "
        f"{KNOB}: {AFTER} into its knobs/user.yaml, as a person would",
        soft_wrap=True,
    )
    for name, fault in config.plant.items():
        console.print(
            f"planted on purpose at step {fault.step} ({name}): {fault.reason}", soft_wrap=True
        )
    command = [sys.executable, "-m", "trainer.demo", str(planned.root), str(EDIT_AFTER_STEP)]
    with subprocess.Popen(command) as editor:
        try:
            ending = session.start(planned, console, adjust=adjust)
        finally:
            editor.terminate()
    tell(console, RunPaths(planned.root))
    return ending


def tell(console: Console, paths: RunPaths) -> None:
    """Print a finished run: its curve, the knob and what it did, and where to look."""
    records = files.read_lines(paths.steps).records
    curve = progress.success_curve(records)
    lines = [
        f"\nsuccess by step  {progress.sparkline(curve)}",
        f"first {WINDOW} steps {_mean(curve[:WINDOW]):.2f}, last {WINDOW} steps "
        f"{_mean(curve[-WINDOW:]):.2f}; by user in the last {WINDOW}: {_arms(records[-WINDOW:])}",
    ]
    lines.append("\nwhat happened, as the ledger has it:")
    lines += story.tell(paths, records)
    lines += [
        f"\nlook at  eau show {paths.root} --failed",
        f"         {paths.steps}",
        f"         {paths.ledger}",
        f"         gate log {paths.root}",
        f"         eau report {paths.root}",
        f"         eau evaluate {paths.root}",
    ]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def edit_as_a_person(paths: RunPaths, after_step: int, *, patience_s: float = PATIENCE_S) -> bool:
    """Wait for a step and save the knob file with one value changed; False if the run ended.

    The file is written in place, as an editor does; nothing here uses the gate's own tools.
    """
    ends = time.monotonic() + patience_s
    while time.monotonic() < ends:
        if len(files.read_lines(paths.steps).records) >= after_step:
            path = paths.knob_file("user")
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(f"{KNOB}: {BEFORE}", f"{KNOB}: {AFTER}"), encoding="utf-8")
            return True
        time.sleep(POLL_S)
    return False


def _arms(records: Sequence[Mapping[str, Any]]) -> str:
    arms = sorted({arm for record in records for arm in record["success_by_arm"]})
    told: list[str] = []
    for arm in arms:
        pairs = [
            (record["success_by_arm"][arm], record["episodes_by_arm"][arm])
            for record in records
            if arm in record["success_by_arm"]
        ]
        count = sum(number for _, number in pairs)
        share = sum(value * number for value, number in pairs) / max(count, 1)
        told.append(f"{arm} {share:.2f} ({count} episodes)")
    return ", ".join(told)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


if __name__ == "__main__":
    edit_as_a_person(RunPaths(Path(sys.argv[1])), int(sys.argv[2]))
