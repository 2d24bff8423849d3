"""Run a command to its end and say which processes it leaves behind; none of them outlives this.

The keeper is a process of its own. Whatever the command starts stays among its descendants, also
what goes into the background or into a session of its own, because orphans fall to the keeper. A
process is found by its id alone, never by its name.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

GRACE_S = 3.0
"""How long what a client started may take to follow it."""
CHECKOUT = Path(__file__).resolve().parents[2]
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int | None
    """Its exit status, negative for a signal; None if it was killed for the time it took."""
    seconds: float
    left: tuple[str, ...]
    """Command lines of processes that were still there after the grace; they were killed."""
    out: str = ""
    err: str = ""

    def told(self) -> str:
        """Return what a failed assertion should show."""
        return (
            f"exit {self.code} after {self.seconds:.1f} s\n{self.out[-4000:]}\n{self.err[-4000:]}"
        )


def run(command: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float) -> Outcome:
    """Run a command under a keeper.

    Args:
        command: The program, by its path, and its arguments.
        cwd: Where it starts.
        env: Its whole environment.
        timeout_s: Seconds after which it is killed with everything that it started.
    """
    order = {"command": list(command), "cwd": str(cwd), "env": dict(env), "timeout_s": timeout_s}
    kept = subprocess.run(
        [sys.executable, "-m", "tests.agents.keeper"],
        input=json.dumps(order),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert kept.returncode == 0, kept.stderr
    told = json.loads(kept.stdout)
    return Outcome(**{**told, "left": tuple(told["left"])})


def keep() -> None:
    """Read one order, carry it out, print the outcome."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    order = json.load(sys.stdin)
    start = time.monotonic()
    # Files, not pipes: whoever stays behind holds them open, and must not hold up this wait.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            order["command"],
            cwd=order["cwd"],
            env=order["env"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        code: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = child.wait(order["timeout_s"])
        seconds = time.monotonic() - start
        left = tuple(_settled(GRACE_S if code is not None else 0.0).values())
        child.wait()
        print(json.dumps(asdict(Outcome(code, seconds, left, _all(out), _all(err)))))


def _all(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def descendants() -> dict[int, str]:
    """Return the living descendants of this process: process id -> command line."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if state != "Z":
                    parents[int(entry.name)] = (int(parent), command.strip())
    mine, found = {os.getpid()}, {os.getpid()}
    while found:
        found = {pid for pid, (parent, _) in parents.items() if parent in found} - mine
        mine |= found
    return {pid: command for pid, (_, command) in parents.items() if pid in mine - {os.getpid()}}


def _settled(grace_s: float) -> dict[int, str]:
    """Wait until nobody is left or the grace is over; kill and return those who stayed."""
    until = time.monotonic() + grace_s
    while (left := descendants()) and time.monotonic() < until:
        time.sleep(0.05)
    _kill(left)
    return left


def _kill(processes: Mapping[int, str]) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    keep()
