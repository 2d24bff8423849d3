"""What a child of the nursery can be asked to do: train, stop, edit as a person would, and die.

A job gets plain values and returns an exit code. It drives the same functions as the commands do.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from gate.contract import knobs
from gate.contract.paths import RunPaths
from gate.contract.records import StepRecord
from gate.guard import KnobStatus, OpenTest
from tests import lax_world, live_run
from trainer import cli, evaluation, examination, launch, recipe_file, session
from trainer.live import LiveKnobs
from trainer.loop import Ending, Run
from trainer.tracking.beside import beside
from trainer.tracking.tracker import Kind

_WRITES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir")


class EditedKnobs(LiveKnobs):
    """Live knobs of a run to which something happens just before the trainer looks at them."""

    def __init__(self, run: Run, plan: Mapping[str, Any]) -> None:
        """Remember what happens.

        Args:
            run: The run; its world names are the recipe's.
            plan: Three things, each by step. `edits`: the files to save, by name the values that
                differ from the launch, or one of `SPOILERS`. `lax_at`: a step at which worlds
                with a laxer verifier come into force. `tests`: the revision that the batch is
                split against.
        """
        super().__init__(run.paths, worlds=tuple(run.config.worlds))
        self._paths = run.paths
        self._plan = plan

    def reconcile(
        self, step: int, *, success_history: Sequence[float | None], now: float
    ) -> KnobStatus:
        """Let happen what happens at the step, then look."""
        for name, values in self._plan.get("edits", {}).get(str(step), {}).items():
            if isinstance(values, str):
                SPOILERS[values](self._paths.knob_file(name))
            else:
                save_knobs(self._paths, name, values)
        if self._plan.get("lax_at") == step:
            lax_world.bring(self._paths, step=step)
        status = super().reconcile(step, success_history=success_history, now=now)
        if "tests" not in self._plan:
            return status
        old, new = self._plan["tests"].get(str(step)), self.condition(status.revision)
        test = None if old is None else OpenTest(7, old=self.condition(old), new=new)
        return replace(status, test=test)


def _become_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _become_binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 16)


def _become_half(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _name_an_unknown_world(path: Path) -> None:
    content = path.read_text("utf-8")
    assert "worlds: {}" in content
    path.write_text(
        content.replace("worlds: {}", "worlds:\n  travle:\n    max_reveals: 3"), "utf-8"
    )


SPOILERS: Mapping[str, Callable[[Path], None]] = {
    "vanish": Path.unlink,
    "become a directory": _become_a_directory,
    "become binary": _become_binary,
    "become half": _become_half,
    "name an unknown world": _name_an_unknown_world,
}
"""What can befall a knob file."""


def save_knobs(run: RunPaths, name: str, values: Mapping[str, Any]) -> None:
    """Save a whole knob file in place: the defaults of the tiny run, and these values."""
    if run.knob_file(name).is_dir():
        run.knob_file(name).rmdir()
    content = knobs.render_defaults(name)
    for key, value in {**TINY_KNOBS.get(name, {}), **values}.items():
        content = live_run.with_value(content, key, value)
    run.knob_file(name).write_bytes(content)


TINY_KNOBS: Mapping[str, Mapping[str, Any]] = {
    "agent": {"actor_lr": 0.0001, "critic_lr": 0.001, "entropy_coeff": 0.01},
    "environment": {"max_steps": 4},
    "reward": {"shaping": [{"id": "chat", "event": "off_topic", "value": -0.05}]},
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
        plan: What happens meanwhile. `edits`, `lax_at`, `tests`: see `EditedKnobs`.
            `stop_after`: a clean stop once that step is done. `die_at`: a part of a path and a
            count; the process kills itself before that write. `file_limit`: bytes that no file
            may outgrow until the run has waited once. `witness`: a file to which `status.json` is
            copied line by line, once for each step.
    """
    if "die_at" in plan:
        _die_at(Path(root), *plan["die_at"])
    return _code(session.resume(RunPaths(Path(root)), _console(), adjust=partial(_adjust, plan)))


def tracked(source: str, root: str, follower: Sequence[str], last: int, last_s: float) -> int:
    """Go on with a copy of a run to a step, under a follower unless its command is empty."""
    paths = copy_run(Path(source), Path(root))
    kind = Kind.TENSORBOARD if follower else None
    with beside(kind, print, command=follower, last_s=last_s) as follow:

        def adjust(run: Run) -> None:
            _adjust({"stop_after": last}, run)
            follow(run.paths)

        return _code(session.resume(paths, _console(), adjust=adjust))


def evaluate(root: str, limit: int, place: str) -> int:
    """Evaluate a run and print where the result lies."""
    os.environ[evaluation.ROOT_VARIABLE] = place
    _, result = examination.evaluate(RunPaths(Path(root)), limit=limit)
    print(result)
    return 0


def evaluate_command(place: str, *words: str) -> int:
    """Run `eau evaluate` with the words given, its output under `place`."""
    os.environ[evaluation.ROOT_VARIABLE] = place
    return command("evaluate", *words)


def _adjust(plan: Mapping[str, Any], run: Run) -> None:
    run.live = EditedKnobs(run, plan)
    if "stop_after" in plan:
        asked, last = run.stop_asked, plan["stop_after"]
        run.stop_asked = lambda: asked() or run.snapshot.step >= last
    if "file_limit" in plan:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (plan["file_limit"], hard))
        run.sleep = lambda _: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    if "witness" in plan:
        run.watcher = _witness(run, Path(plan["witness"]))


def _witness(run: Run, place: Path) -> Callable[[StepRecord, KnobStatus], None]:
    before = run.watcher

    def watch(record: StepRecord, status: KnobStatus) -> None:
        with place.open("ab") as file:
            file.write(run.paths.status.read_bytes())
        before(record, status)

    return watch


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
