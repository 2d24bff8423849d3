"""The meta-agent beside a run: a supervisor process that is started with it and ends with it.

The two meet through the run's files and nothing else, so a supervisor that crashes or hangs costs
the run nothing. What it does is not known here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gate.contract.paths import RunPaths
from trainer.recipe import MetaAgentConfig

SUPERVISE = (sys.executable, "-m", "skill", "supervise")
LAST_TICK_S = 60.0
"""How long a supervisor may go on after the run's end, to judge and to write down."""
END_S = 10.0
"""How long it may take to end when it is told to, before it is killed."""
OWN_EXPERIENCE = "experience"


@contextmanager
def beside(
    config: MetaAgentConfig,
    paths: RunPaths,
    *,
    command: Sequence[str] = SUPERVISE,
    last_tick_s: float = LAST_TICK_S,
) -> Iterator[None]:
    """Keep a supervisor running for the length of the block, if the recipe wants one.

    It ends by itself when the run's status says that the run is over. Where it does not, it is
    told to and then killed, with everything that it started.

    Args:
        config: Who supervises, how often and how far it may go.
        paths: The run.
        command: What starts a supervisor.
        last_tick_s: How long it is waited for after the block, in seconds.
    """
    if not config.agent:
        yield
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
        yield
        ended_well = True
    finally:
        _end(process, patience_s=last_tick_s if ended_well else 0.0)


def _arguments(agent: str, config: MetaAgentConfig, paths: RunPaths) -> list[str]:
    arguments = [str(paths.root), "--agent", agent, "--every", str(config.every)]
    arguments += ["--autonomy", config.autonomy]
    if config.own_experience:
        folder = paths.root / OWN_EXPERIENCE
        (folder / "lessons").mkdir(parents=True, exist_ok=True)
        arguments += ["--experience", str(folder)]
    return arguments


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
