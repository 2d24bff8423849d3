"""Places: the folder of runs, the disk, what earlier runs left behind, where evaluations go."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from trainer import evaluation
from trainer.doctor.finding import Finding, Level, Patient
from trainer.doctor.plan import checkpoint_bytes
from trainer.memory_plan import gib

LIVE_PHASES = ("starting", "warm_start", "training", "paused")
OURS = ("trainer.worlds.keeper", "trainer.worlds.zygote", "sglang.launch_server", "sglang::")
"""What stands on the command lines of processes that a run starts."""


def runs(patient: Patient) -> Iterator[Finding]:
    """Check that runs can be written where they are to be."""
    place = patient.runs if patient.runs.exists() else patient.runs.absolute().parent
    if not place.is_dir():
        yield Finding("runs", Level.FAULT, f"{place} is no folder; choose another with --runs")
    elif not os.access(place, os.W_OK | os.X_OK):
        yield Finding("runs", Level.FAULT, f"{place} cannot be written; choose another with --runs")
    else:
        yield Finding("runs", Level.OK, f"{patient.runs} can be written")


def disk(patient: Patient) -> Iterator[Finding]:
    """Check that the checkpoints of the recipe fit on the disk."""
    place = patient.runs if patient.runs.exists() else patient.runs.absolute().parent
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        yield Finding("disk", Level.UNKNOWN, f"{place}: {error.strerror}")
        return
    if patient.config is None:
        yield Finding("disk", Level.OK, f"{gib(free)} free at {place}")
        return
    settings = patient.config.checkpoint
    if free < settings.min_free_mb * 2**20:
        told = f"{gib(free)} free at {place}; checkpoint.min_free_mb asks for more"
        yield Finding("disk", Level.FAULT, f"{told}: free some space")
        return
    each = checkpoint_bytes(patient.config)
    if each is None:
        told = f"{gib(free)} free at {place}; the size of a checkpoint cannot be told beforehand"
        yield Finding("disk", Level.UNKNOWN, told)
        return
    # The launch, those that are kept, and the one that is being written.
    needed = each * (settings.keep + 2)
    told = f"{gib(free)} free at {place}; {settings.keep + 2} checkpoints of {gib(each)}"
    if needed > free:
        advice = "free some space, or lower checkpoint.keep"
        yield Finding("disk", Level.FAULT, f"{told} need {gib(needed)}: {advice}")
    else:
        yield Finding("disk", Level.OK, f"{told} take {gib(needed)}")


def orphans(patient: Patient) -> Iterator[Finding]:
    """Find processes that a run left behind: adopted by the first process, still holding memory."""
    left = [pid for pid, parent, line in _processes(patient.proc) if parent == 1 and _ours(line)]
    if left:
        ids = ", ".join(map(str, left))
        told = f"processes {ids} outlived the run that started them; look, and end them by id"
        yield Finding("orphans", Level.DOUBT, told)
    else:
        yield Finding("orphans", Level.OK, "no process of an earlier run is left")


def unfinished(patient: Patient) -> Iterator[Finding]:
    """Find runs that are being trained now, and runs whose trainer is gone."""
    for path in sorted(patient.runs.glob("*/status.json")):
        if path.parent.is_symlink():
            continue
        try:
            status = json.loads(path.read_bytes())
            phase, pid = status["phase"], int(status["pid"])
        except (OSError, ValueError, KeyError, TypeError):
            yield Finding("unfinished", Level.DOUBT, f"{path} cannot be read; look at it")
            continue
        if phase not in LIVE_PHASES:
            continue
        name = path.parent.name
        if (patient.proc / str(pid)).exists():
            told = f"run {name} is being trained by process {pid} and shares this machine"
        else:
            told = f"run {name} stands at {phase} and its trainer is gone: eau resume {name}"
        yield Finding("unfinished", Level.DOUBT, told)


def evaluations(patient: Patient) -> Iterator[Finding]:
    """Check that evaluations are written outside every run."""
    try:
        yield Finding("evaluations", Level.OK, f"evaluations go to {evaluation.root()}")
    except evaluation.EvaluationError as error:
        yield Finding("evaluations", Level.FAULT, str(error))


def _ours(line: str) -> bool:
    return any(mark in line for mark in OURS)


def _processes(proc: Path) -> Iterator[tuple[int, int, str]]:
    """Yield id, parent and command line of this user's processes."""
    for entry in proc.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid != os.getuid():
                continue
            # The name stands in parentheses and may hold spaces and parentheses of its own.
            parent = int(
                (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1]
            )
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except (OSError, ValueError, IndexError):
            continue
        yield int(entry.name), parent, line
