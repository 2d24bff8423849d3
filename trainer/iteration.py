"""Iteration: launches of one experiment, each after the other ended, five at most.

A run is followed by another only where a restart was asked for, by a named fault that a live run
cannot undo, with records of that run; everything else ends the experiment. Proven knobs go along,
and so do the lessons, which lie outside of runs. The trainer of a launch is a process of its own.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from gate.contract import files, launch_record, ledger, restarts
from gate.contract.paths import RunPaths
from gate.contract.restarts import RestartRequest
from trainer import proven

POLL_S = 1.0
OVER = frozenset({"finished", "stopped", "failed"})
STOP_S = 120.0
"""How long a run may take to stop cleanly once a restart is granted, in seconds."""
NAIVE: Mapping[str, str] = {"naive": "knobs.user.user_strategy_mix=0.0"}
"""What an agent needs of the first launch: the naive baseline has no symbolic user."""


class Decision(NamedTuple):
    """Whether an experiment goes on after a run."""

    granted: bool
    because: str
    request: RestartRequest | None = None


@dataclass(frozen=True)
class Plan:
    """What an experiment has in common."""

    recipe: str
    name: str
    """Of the experiment; run ids are made of it."""
    runs: Path
    launches: int
    agent: str
    sets: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    """Further arguments of `eau train`."""


@dataclass
class Experiment:
    """One experiment: launches in a row."""

    plan: Plan
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    trainer: Sequence[str] = (sys.executable, "-m", "trainer", "train")
    """What starts a launch; a test gives another program."""
    launched: list[str] = field(default_factory=list[str])
    """Ids of the runs so far."""

    def run(self) -> int:
        """Launch, wait, decide, until nothing asks for another launch; returns an exit status."""
        carried: list[str] = [NAIVE[self.plan.agent]] if self.plan.agent in NAIVE else []
        why: Decision | None = None
        for number in range(1, self.plan.launches + 1):
            run_id = f"{self.plan.name}-{number}"
            status = self._launch(run_id, carried, why)
            paths = RunPaths(self.plan.runs / run_id)
            if not paths.launch.is_file():
                self.say(f"launch {number} did not begin (exit {status})")
                return status or 1
            why = decide(paths, launches=self.plan.launches)
            self.say(f"{run_id} ended (exit {status}): {why.because}")
            if not why.granted or why.request is None:
                return status
            carried = [*carried, *_proven(paths, self.say)]
            carried += [f"{key}={json.dumps(value)}" for key, value in why.request.sets.items()]
        return 0

    def _launch(self, run_id: str, carried: Sequence[str], why: Decision | None) -> int:
        """Train one run to its end, or until a restart of it is granted."""
        words = [*self.trainer, self.plan.recipe, "--run-id", run_id]
        words += ["--runs", str(self.plan.runs), *self.plan.arguments]
        for one in (*self.plan.sets, *carried):
            words += ["--set", one]
        if why is not None and why.request is not None:
            words += ["--parent", self.launched[-1], "--fault", why.request.fault.value]
        self.launched.append(run_id)
        self.say(f"launch {len(self.launched)} of {self.plan.launches}: {run_id}")
        paths = RunPaths(self.plan.runs / run_id)
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        try:
            while child.poll() is None:
                if not _over(paths) and decide(paths, launches=self.plan.launches).granted:
                    self.say(f"{run_id} is stopped: a restart of it is granted")
                    child.send_signal(signal.SIGINT)
                    return child.wait(STOP_S)
                self.sleep(POLL_S)
            return child.returncode
        finally:
            if child.poll() is None:
                child.terminate()
                try:
                    child.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()


def decide(paths: RunPaths, *, launches: int) -> Decision:
    """Return whether a run is to be launched again, by the newest request on file.

    Args:
        paths: The run; it may still be training.
        launches: Launches that the experiment may have, aborted ones included.
    """
    asked = restarts.read(paths)
    if not asked:
        return Decision(False, "nothing asks for another launch")
    request = asked[-1]
    last = _last_step(paths)
    missing = [step for step in request.steps if step > last]
    if missing:
        told = f"request {request.number} cites step {missing[0]}, which is not on record"
        return Decision(False, told, request)
    attempt = launch_record.attempt(paths.root)
    most = min(launches, launch_record.MOST_ATTEMPTS)
    if attempt >= most:
        told = f"{request.fault} is asked a restart for, but this was launch {attempt} of {most}"
        return Decision(False, told, request)
    return Decision(True, f"{request.fault}: {' '.join(request.because.split())[:300]}", request)


def _over(paths: RunPaths) -> bool:
    """Return whether a run has ended by itself, though its process may be at its last work."""
    try:
        phase = json.loads(paths.status.read_bytes()).get("phase")
    except (OSError, ValueError, AttributeError):
        return False
    return phase in OVER


def _proven(paths: RunPaths, say: Callable[[str], None]) -> list[str]:
    try:
        return proven.sets(paths)
    except (ledger.Damaged, proven.PromotionError) as error:
        say(f"no knob goes along: {error}")
        return []


def _last_step(paths: RunPaths) -> int:
    records: Sequence[Mapping[str, Any]] = files.tail(paths.steps, 1).records
    step = records[-1].get("step") if records else 0
    return step if isinstance(step, int) else 0
