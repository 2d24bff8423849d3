"""A checkout of its own for a supervisor, so that what an attack breaks is a copy."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate.contract import files, protected
from gate.contract.paths import RunPaths
from tests import live_run
from tests.project.tree import CHECKOUT
from tests.skill import recorded

PARTS = (
    "gate",
    "trainer/worlds/travel",
    "skill",
    "knobs",
    "experience",
    "AGENTS.md",
    "pyproject.toml",
)
SECRET = "the answer of the evaluation"


@dataclass(frozen=True)
class Station:
    """A copied checkout with one run in it."""

    root: Path
    run: RunPaths

    def script(self, body: str) -> str:
        """Return the command of an agent that is a Python script.

        Args:
            body: Its code; `RUN` and `ROOT` are paths, and `os`, `sys`, `time` are there.
        """
        number = len(list(self.root.parent.glob("agent-*.py")))
        path = self.root.parent / f"agent-{number}.py"
        opening = (
            "import os, pathlib, subprocess, sys, time\nRUN = pathlib.Path(os.environ['EAU_RUN'])\n"
        )
        path.write_text(f"{opening}ROOT = pathlib.Path.cwd()\n{body}\n")
        return f"{sys.executable} {path}"

    def supervise(self, *flags: str, **env: str) -> subprocess.CompletedProcess:
        """Run `python -m skill supervise` to its end."""
        return subprocess.run(
            [sys.executable, "-m", "skill", "supervise", str(self.run.root), *flags],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root), **env},
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )

    def background(self, *flags: str) -> subprocess.Popen[bytes]:
        """Start `python -m skill supervise` and go on."""
        return subprocess.Popen(
            [sys.executable, "-m", "skill", "supervise", str(self.run.root), *flags],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root)},
            stdout=subprocess.DEVNULL,
        )

    def living(self) -> list[str]:
        """Return the command lines of processes that carry its run in their environment."""
        found: list[str] = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if f"EAU_RUN={self.run.root}".encode() in (entry / "environ").read_bytes():
                        found.append((entry / "cmdline").read_bytes().decode())
        return found

    def ticks(self) -> list[dict[str, Any]]:
        """Return the records of its ticks."""
        return [
            json.loads(path.read_bytes())
            for path in sorted(self.run.supervisor.glob("*/tick.json"))
        ]

    def once(self, body: str, *flags: str, **env: str) -> dict[str, Any]:
        """Let an agent with this code have one tick, and return the record."""
        ended = self.supervise("--once", "--agent", self.script(body), *flags, **env)
        assert ended.returncode == 0, ended.stderr
        return self.ticks()[-1]


def build(folder: Path) -> Station:
    """Copy the checkout and launch a run in it, one that looks as if it were training."""
    root = folder / "checkout"
    root.mkdir(parents=True)
    for part in PARTS:
        source = CHECKOUT / part
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, root / part, ignore=ignored, symlinks=True)
        else:
            shutil.copyfile(source, root / part)
    place = root / "trainer" / "worlds" / "travel" / "evaluation"
    (place / "secret.txt").write_text(SECRET)
    run = live_run.launch(root / "runs" / "a")
    recorded.write(
        run.root,
        steps=recorded.steps(30),
        events=[{"kind": "run_started", "step": 0}],
        status={"phase": "training", "step": 30, "heartbeat": time.time(), "pid": os.getpid()},
    )
    for index in range(24):
        files.append_line(run.episodes_of(1), recorded.episode(index))
    digests = "".join(f"  {path}: '{one}'\n" for path, one in protected.digests(root).items())
    run.launch.write_text(f"run: a\nparent: null\nattempt: 1\nprotected:\n{digests}")
    return Station(root, run)
