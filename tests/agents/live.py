"""A really training run in a workshop: the tiny run, long enough for an agent to meet it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import tiny_run
from tests.agents.workshop import Workshop

STEPS = 5000
"""More than a test ever sees: it ends the run."""
WAIT_S = 60.0
"""How long a test waits for what takes a trainer some seconds."""


@dataclass(frozen=True)
class Training:
    """A trainer at work."""

    run: RunPaths
    process: subprocess.Popen[bytes]
    output: Path

    @property
    def last_step(self) -> int:
        """The last step on record; 0 before the first."""
        steps = self.run.steps
        found = files.read_lines(steps).records if steps.is_file() else ()
        return found[-1]["step"] if found else 0

    def until(self, holds: Callable[[], Any], what: str) -> None:
        """Wait until something holds; fails the test if the trainer ends or it takes too long."""
        give_up = time.monotonic() + WAIT_S
        while not holds():
            self.must_go_on()
            assert time.monotonic() < give_up, f"waited {WAIT_S:g} s for {what}"
            time.sleep(0.05)

    def must_go_on(self) -> None:
        """Fail the test if the trainer has ended."""
        assert self.process.poll() is None, self.output.read_text("utf-8")[-4000:]


@contextmanager
def training(shop: Workshop, name: str, *, done: int) -> Iterator[Training]:
    """Train until the block is left; nobody is left behind then.

    Args:
        shop: Where.
        name: Of the run.
        done: Steps on record when the block begins.
    """
    start = shop.root / f"start-{name}"
    start.mkdir()
    recipe = tiny_run.write_recipe(start)
    sets = (f"total_steps={STEPS}", "checkpoint.every=500", f"learner.lr_decay_steps={STEPS}")
    command = [str(shop.python), "-m", "trainer", "train", str(recipe), "--run-id", name]
    command += [
        "--starting-knobs",
        str(start / "knobs"),
        *(word for one in sets for word in ("--set", one)),
    ]
    output = start / "told.txt"
    with output.open("wb") as told:
        trainer = subprocess.Popen(
            command, cwd=shop.root, stdin=subprocess.DEVNULL, stdout=told, stderr=subprocess.STDOUT
        )
        found = Training(shop.run(name), trainer, output)
        try:
            found.until(lambda: found.last_step >= done, f"step {done}")
            yield found
            found.must_go_on()
        finally:
            trainer.send_signal(signal.SIGINT)
            trainer.wait(WAIT_S)
    give_up = time.monotonic() + WAIT_S
    while (left := tiny_run.alive(found.run.root)) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert left == [], "the worlds' processes follow their trainer"
