"""A nursery of trainers: one process that has imported torch forks a child for every run.

Importing torch and transformers costs more than a tiny run of ten steps. A child is a process of
its own, so it can be killed, starved or limited as any trainer.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

WAIT_S = 240.0
"""How long a test waits for a run of a few seconds, on however busy a machine."""
_PR_SET_PDEATHSIG = 1


class Child:
    """One process of the nursery."""

    def __init__(self, nursery: Nursery, pid: int, output: Path) -> None:
        self._nursery = nursery
        self.pid = pid
        self.output = output
        self.returncode: int | None = None
        """As `subprocess` has it: negative for a signal."""

    def told(self) -> str:
        """What it has printed so far, on either stream."""
        return self.output.read_text("utf-8", "replace")

    def ended(self) -> bool:
        """True when it has ended."""
        if self.returncode is None:
            self.returncode = self._nursery.ask({"wait": self.pid, "timeout_s": 0.0})["code"]
        return self.returncode is not None

    def wait(self) -> int:
        """Wait for its end; a child that does not come to one is killed and fails the test."""
        if self.returncode is None:
            self.returncode = self._nursery.ask({"wait": self.pid, "timeout_s": WAIT_S})["code"]
        if self.returncode is None:
            self.kill()
            raise AssertionError(f"no end within {WAIT_S} s:\n{self.told()}")
        return self.returncode

    def kill(self, number: int = signal.SIGKILL) -> int | None:
        """Send a signal; after SIGKILL also wait for the end."""
        # Its id cannot be another's: the nursery has not collected it yet.
        if self.returncode is None:
            os.kill(self.pid, number)
            return self.wait() if number == signal.SIGKILL else None
        return self.returncode


class Nursery:
    """The parent of all children; a context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).resolve().parents[1],
            text=True,
        )

    def begin(self, job: str, *positional: Any, **named: Any) -> Child:
        """Start a job, a function of `tests.jobs` that returns an exit code."""
        self._count += 1
        output = self._folder / f"{self._count:04d}-{job}.txt"
        output.touch()
        order = {"job": job, "positional": positional, "named": named, "output": str(output)}
        return Child(self, self.ask(order)["pid"], output)

    def run(self, job: str, *positional: Any, **named: Any) -> Child:
        """Do a job to its end."""
        child = self.begin(job, *positional, **named)
        child.wait()
        return child

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """Pass an order on and return the answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order, default=str) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def serve() -> None:
    """Take orders until the input ends."""
    jobs = importlib.import_module("tests.jobs")
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            answer = {"code": _collect(order["wait"], order["timeout_s"])}
        else:
            pid = os.fork()
            if pid == 0:
                _live(jobs, order)
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)


def _live(jobs: Any, order: dict[str, Any]) -> NoReturn:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    code = 70
    try:
        code = getattr(jobs, order["job"])(*order["positional"], **order["named"])
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0
    except BaseException:  # its parent is another process: it must not go on in here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _collect(pid: int, timeout_s: float) -> int | None:
    until = time.monotonic() + timeout_s
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= until:
            return None
        time.sleep(0.01)


if __name__ == "__main__":
    serve()
