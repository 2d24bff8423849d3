"""The sandbox, seen from whoever has code to run: hand over a program, get back an evaluation.

One warm warden serves a process and everything it forks. What the program did is a value; what
the sandbox itself could not do is a `SandboxError`, so a broken machine is never mistaken for a
wrong program. Nothing of the caller's environment reaches the warden.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.worlds import wire
from trainer.worlds.sandbox import values, warden
from trainer.worlds.sandbox.program import (
    CallResult,
    Evaluation,
    Outcome,
    Program,
    SandboxError,
)

START_S = 60.0
"""Seconds that a warden may take to be ready; it imports the modules that programs may use."""
GRACE_S = 20.0
"""Seconds beyond a program's own limit after which the sandbox counts as broken."""
END_S = 2.0
"""Seconds that a warden may take to end by itself."""

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",  # sets of strings come in one order, whoever evaluates
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
"""All that a warden, and with it a program, finds in its environment."""

_CHECKOUT = Path(__file__).resolve().parents[3]


@dataclass
class Sandbox:
    """A running warden, for the process that started it and for all that this one forks."""

    door: socket.socket
    pid: int
    owner: int
    """Process id of whoever started the warden."""

    def evaluate(self, program: Program) -> Evaluation:
        """Run a program and return what became of each of its calls.

        Raises:
            SandboxError: if the warden is gone, silent or cannot run it. Nothing is known about
                the program then.
        """
        near, far = socket.socketpair()
        with near:
            with far:
                try:
                    socket.send_fds(self.door, [b"\x01"], [far.fileno()])
                except OSError as error:
                    raise SandboxError(f"the sandbox's warden has gone away: {error}") from error
            near.settimeout(program.bounds.total_s + GRACE_S)
            try:
                near.sendall(wire.frame(json.dumps(program.to_json()).encode()))
                content = wire.read_frame(near)
            except OSError as error:
                raise SandboxError(f"the sandbox does not answer: {error}") from error
        if content is None:
            raise SandboxError("the sandbox ended without an answer; is the process limit reached?")
        return _evaluation(program, json.loads(content))

    def close(self) -> None:
        """End the warden, if this process started it; further calls do nothing."""
        self.door.close()
        if self.owner == os.getpid():
            self.owner = -1
            _end(self.pid)


def start(*, bubblewrap: str | None = None) -> Sandbox:
    """Start a warden and wait until it is ready.

    Args:
        bubblewrap: Path of `bwrap`, to have it stand around the warden as a second fence; where
            it cannot make its namespaces, the warden stands without.

    Raises:
        SandboxError: if none can be started.
    """
    if bubblewrap is not None:
        with contextlib.suppress(SandboxError):
            return launch(_wrapped(bubblewrap))
    return launch(_command())


def shared() -> Sandbox:
    """Return this process's sandbox, started at the first call and inherited by forks."""
    global _shared
    if _shared is None:
        _shared = start(bubblewrap=shutil.which("bwrap"))
        atexit.register(_shared.close)
    return _shared


_shared: Sandbox | None = None


def launch(command: list[str]) -> Sandbox:
    """Start a warden by its command line (see `trainer.worlds.sandbox.warden.command`).

    Raises:
        SandboxError: if it cannot be started or is not ready in time.
    """
    door, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with far:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, far.fileno(), warden.DOOR),
        ]
        try:
            pid = os.posix_spawn(command[0], command, ENVIRONMENT, file_actions=actions)
        except OSError as error:
            door.close()
            raise SandboxError(f"{command[0]} cannot be started: {error.strerror}") from error
    sandbox = Sandbox(door, pid, os.getpid())
    door.settimeout(START_S)
    try:
        hello = door.recv(len(warden.HELLO))
    except OSError as error:
        hello = str(error).encode()
    if hello != warden.HELLO:
        sandbox.close()
        raise SandboxError(f"the sandbox's warden did not start; run: {' '.join(command)}")
    door.settimeout(None)
    return sandbox


def _end(pid: int) -> None:
    """Wait for a warden that nobody needs; a fork that still holds the door does not keep it."""
    give_up = time.monotonic() + END_S
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > give_up:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return
            time.sleep(0.01)


def _command() -> list[str]:
    return warden.command(sys.executable, _roots())


def _roots() -> list[str]:
    return [str(_CHECKOUT), sysconfig.get_path("purelib")]


def _wrapped(bubblewrap: str) -> list[str]:
    """Return the warden's command inside bubblewrap: it sees its own modules, and no task."""
    package = Path(__file__).parent
    ours = [path for folder in package.parents[:2] for path in folder.glob("*.py")]
    shown = ["/usr", "/lib", "/lib64", "/bin", sys.base_prefix, sys.prefix, *_roots()[1:]]
    shown += sorted(map(str, [package, *ours]))
    command = [bubblewrap, "--unshare-all", "--dev", "/dev", "--proc", "/proc"]
    command += ["--tmpfs", "/tmp", "--chdir", "/tmp"]
    for path in dict.fromkeys(filter(os.path.exists, shown)):
        command += ["--ro-bind", path, path]
    return [*command, "--", *_command()]


def _evaluation(program: Program, answer: dict[str, Any]) -> Evaluation:
    if "failed" in answer:
        raise SandboxError(answer["failed"])
    results = tuple(_result(Outcome(outcome), text) for outcome, text in answer["results"])
    if len(results) != len(program.calls):
        raise SandboxError(f"{len(results)} results came back for {len(program.calls)} calls")
    return Evaluation(results, sandboxed=answer["sandboxed"])


def _result(outcome: Outcome, text: str) -> CallResult:
    if outcome is not Outcome.VALUE:
        return CallResult(outcome, detail=text[:64])
    try:
        return CallResult(outcome, values.decode(text))
    except values.ValueRefusedError as error:
        return CallResult(Outcome.UNREADABLE, detail=str(error)[:64])
