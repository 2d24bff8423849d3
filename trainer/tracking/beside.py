"""A follower beside a run: a process that starts with it, costs it nothing and ends with it.

The two share a pipe that nothing is sent through. It closes when the run is over or its process is
gone, however that ended; then the follower writes what is left, and is ended if it takes too long.
Whatever becomes of it, the run goes on and is told no more than one line.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gate.contract.paths import RunPaths
from trainer.tracking.backends import BACKENDS
from trainer.tracking.tracker import Kind

FOLLOW = (sys.executable, "-m", "trainer", "track")
LOG = "follower.log"
LAST_S = 30.0
"""How long a follower may take to write what is left, in seconds."""

Start = Callable[[RunPaths], None]
"""Starts to follow a run whose folder is there."""


@contextmanager
def beside(
    kind: Kind | None,
    say: Callable[[str], object],
    *,
    command: Sequence[str] = FOLLOW,
    last_s: float = LAST_S,
) -> Iterator[Start]:
    """Give what starts a follower, and end it with the block; nothing of it outlives that.

    Args:
        kind: The tracker; None for nobody.
        say: Told where to look, and at the end only that something went wrong.
        command: What starts a follower, before its arguments.
        last_s: How long it may take to write what is left, in seconds.
    """
    if kind is None:
        yield lambda _: None
        return
    started: list[_Follower] = []

    def start(paths: RunPaths) -> None:
        try:
            started.append(_Follower(kind, paths, command))
        except OSError as error:
            say(f"{kind} cannot be started, and the run goes on: {error}")
            return
        say(f"{kind} follows: {BACKENDS[kind].look(folder_of(paths, kind), os.environ)}")

    try:
        yield start
    finally:
        for one in started:
            one.end(say, last_s)


def folder_of(paths: RunPaths, kind: Kind) -> Path:
    """Return the folder of a run that belongs to a tracker."""
    return paths.tracking / kind.value


class _Follower:
    """The trainer's end: one follower's process."""

    def __init__(self, kind: Kind, paths: RunPaths, command: Sequence[str]) -> None:
        self._told = f"{kind} failed and the run went on; `eau track {paths.root} --to {kind}`"
        self._log = folder_of(paths, kind) / LOG
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                [*command, str(paths.root), "--to", kind.value, "--beside", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def end(self, say: Callable[[str], object], patience_s: float) -> None:
        """Let it write what is left; then nothing of its group stays."""
        assert self._process.stdin is not None
        in_time = False
        try:
            self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience_s)
                in_time = True
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.returncode:
            late = "" if in_time else f" (ended after {patience_s:g} s)"
            say(f"{self._told} goes on where it stopped{late}; what it said: {self._log}")
