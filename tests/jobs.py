"""What a child of the nursery can be asked to do: train, stop, edit as a person would, and die.

A job gets plain values and returns an exit code. It drives the same functions as the commands do.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from gate.contract import knobs
from gate.contract.paths import RunPaths
from gate.guard import KnobStatus
from tests import live_run
from trainer import cli, launch, recipe_file, session
from trainer.live import LiveKnobs
from trainer.loop import Ending, Run

_WRITES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir")


class EditedKnobs(LiveKnobs):
    """Live knobs whose files somebody saves just before the trainer looks at them."""

    def __init__(self, run: Run, edits: Mapping[str, Mapping[str, Any]]) -> None:
        """Remember the edits.

        Args:
            run: The run; its world names are the recipe's.
            edits: By step, the files to save: by name, the values that differ from the launch.
        """
        super().__init__(run.paths, worlds=tuple(run.config.worlds))
        self._paths = run.paths
        self._edits = edits

    def reconcile(self, step: int, *, success_history: Sequence[float], now: float) -> KnobStatus:
        """Save what the step's edit says, then look."""
        for name, values in self._edits.get(str(step), {}).items():
            save_knobs(self._paths, name, values)
        return super().reconcile(step, success_history=success_history, now=now)


def save_knobs(run: RunPaths, name: str, values: Mapping[str, Any]) -> None:
    """Save a whole knob file in place: the defaults of the tiny run, and these values."""
    content = knobs.render_defaults(name)
    for key, value in {**TINY_KNOBS.get(name, {}), **values}.items():
        content = live_run.with_value(content, key, value)
    run.knob_file(name).write_bytes(content)


TINY_KNOBS: Mapping[str, Mapping[str, Any]] = {
    "agent": {"actor_lr": 0.0001, "critic_lr": 0.001, "entropy_coeff": 0.01},
    "environment": {"max_steps": 4},
    "reward": {"shaping": [{"id": "chat", "event": "off_topic", "value": 0.05}]},
}
"""Knobs of the tiny run that differ from the defaults: short episodes, visible learning."""


def command(*words: str) -> int:
    """Run `eau` with these words."""
    sys.argv = ["eau", *words]
    cli.main()
    return 0


def plant(recipe: str, runs: str, run_id: str, knob_dir: str) -> int:
    """Launch a run and stop it cleanly before its first step."""
    planned = launch.plan(
        recipe_file.load(recipe), run_id=run_id, runs=Path(runs), knob_dir=Path(knob_dir)
    )
    return _code(session.start(planned, _console(), adjust=partial(_adjust, {"stop_after": 0})))


def resume(root: str, **plan: Any) -> int:
    """Go on with a run.

    Args:
        root: Its directory.
        plan: What happens meanwhile. `edits`: see `EditedKnobs`. `stop_after`: a clean stop once
            that step is done. `die_at`: a part of a path and a count; the process kills itself
            before that write. `tool`: replaces a world's file `env.py` by another.
            `file_limit`: bytes that no file may outgrow; `lift_s`: lifted after so long.
    """
    if "die_at" in plan:
        _die_at(Path(root), *plan["die_at"])
    return _code(session.resume(RunPaths(Path(root)), _console(), adjust=partial(_adjust, plan)))


def evaluate(root: str, limit: int) -> int:
    """Evaluate a run and print where the result lies."""
    _, place = session.evaluate(RunPaths(Path(root)), limit=limit)
    print(place)
    return 0


def _adjust(plan: Mapping[str, Any], run: Run) -> None:
    run.live = EditedKnobs(run, plan.get("edits", {}))
    if "stop_after" in plan:
        asked, last = run.stop_asked, plan["stop_after"]
        run.stop_asked = lambda: asked() or run.snapshot.step >= last
    if "file_limit" in plan:
        _limit_files(plan["file_limit"], plan.get("lift_s"))


def _limit_files(size: int, lift_s: float | None) -> None:
    """Let no file grow past a size, as on a full disk, until some time has passed."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

    def lift() -> None:
        time.sleep(lift_s or 0.0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

    if lift_s is not None:
        threading.Thread(target=lift, daemon=True).start()


def _die_at(root: Path, part: str, count: int) -> None:
    """Have this process killed before its `count`-th write to a path of the run with `part`."""
    left = [count]
    prefix = str(root)

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))
            paths = [path] if writes else []
        elif event in _WRITES:
            paths = list(arguments[:2] if event == "os.rename" else arguments[:1])
        else:
            return
        named = [os.fspath(path) for path in paths if isinstance(path, str | os.PathLike)]
        if any(name.startswith(prefix) and part in name.removeprefix(prefix) for name in named):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def _console() -> Console:
    return Console(file=sys.stdout, width=200)


def _code(ending: Ending) -> int:
    return 1 if ending is Ending.FAILED else 0


def copy_run(source: Path, target: Path) -> RunPaths:
    """Return a copy of a run under another name."""
    shutil.copytree(source, target, symlinks=True)
    return RunPaths(target)
