"""The meta-agent beside a run: a supervisor process that is started with it and ends with it.

The two meet through the run's files and nothing else, so a supervisor that crashes or hangs costs
the run nothing; one that a study waits for costs it a bounded time. What it does is not known here.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from gate.contract.paths import RunPaths
from trainer.recipe import MetaAgentConfig

SUPERVISE = (sys.executable, "-m", "skill", "supervise")
LAST_TICK_S = 60.0
"""How long a supervisor may go on after the run's end, to judge and to write down."""
END_S = 10.0
"""How long it may take to end when it is told to, before it is killed."""
OWN_EXPERIENCE = "experience"
LONGEST_TICK_S = 900.0
"""How long a run that waits does so for one tick; a supervisor ends them before."""
POLL_S = 0.05
"""How often is looked whether a tick that is waited for is over, by either side."""

Wait = Callable[[int, Callable[[], bool]], None]
"""Waits for the tick that is due after a step, if there is one, or until somebody asks to stop."""


@contextmanager
def beside(
    config: MetaAgentConfig,
    paths: RunPaths,
    *,
    command: Sequence[str] = SUPERVISE,
    last_tick_s: float = LAST_TICK_S,
) -> Iterator[Wait]:
    """Keep a supervisor running for the length of the block, if the recipe wants one.

    The block gets what waits for a tick, which does nothing where the recipe does not want it to.
    The supervisor ends by itself when the run's status says that the run is over. Where it does
    not, it is told to and then killed, with everything that it started.

    Args:
        config: Who supervises, how often and how far it may go.
        paths: The run.
        command: What starts a supervisor.
        last_tick_s: How long it is waited for after the block, in seconds.
    """
    if not config.agent:
        yield _go_on
        return
    paths.supervisor.mkdir(exist_ok=True)
    with (paths.supervisor / "output.log").open("ab") as output:
        process = subprocess.Popen(
            [*command, *_arguments(config.agent, config, paths)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    ended_well = False
    try:
        yield partial(_wait, config, paths, process) if config.waits else _go_on
        ended_well = True
    finally:
        _end(process, patience_s=last_tick_s if ended_well else 0.0)


def _arguments(agent: str, config: MetaAgentConfig, paths: RunPaths) -> list[str]:
    arguments = [str(paths.root), "--agent", agent, "--every", str(config.every)]
    arguments += ["--autonomy", config.autonomy]
    if config.waits:
        arguments += ["--poll-s", f"{POLL_S}"]
    if config.own_experience:
        folder = paths.root / OWN_EXPERIENCE
        (folder / "lessons").mkdir(parents=True, exist_ok=True)
        arguments += ["--experience", str(folder)]
    return arguments


def _go_on(step: int, stop_asked: Callable[[], bool]) -> None:
    """Wait for nobody."""


def _wait(
    config: MetaAgentConfig,
    paths: RunPaths,
    process: subprocess.Popen[bytes],
    step: int,
    stop_asked: Callable[[], bool],
) -> None:
    until = time.monotonic() + LONGEST_TICK_S
    while (
        _newest_tick(paths) + config.every <= step
        and process.poll() is None
        and not stop_asked()
        and time.monotonic() < until
    ):
        time.sleep(POLL_S)


def _newest_tick(paths: RunPaths) -> int:
    """Return the step at which the newest tick that is over began; 0 before the first."""
    ticks = (json.loads(path.read_bytes()) for path in paths.supervisor.glob("*/tick.json"))
    return max((int(tick["step"]) for tick in ticks), default=0)


def _end(process: subprocess.Popen[bytes], *, patience_s: float) -> None:
    """Wait for a supervisor, then tell it to end; in any case nothing of its group is left."""
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=patience_s)
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=END_S)
    finally:
        # A client that outlived its supervisor goes with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
