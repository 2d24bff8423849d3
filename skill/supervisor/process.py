"""One bounded process: a deadline, bounded output, and nobody left when it is over.

Whatever a command starts stays among the descendants of this process, also what leaves its group,
because orphans fall to it; they are ended by their ids. Nothing here knows what the command is.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

HEAD_BYTES, TAIL_BYTES = 2 << 20, 256 << 10
"""Of each stream, what is kept of its beginning and of its end."""

POLL_S = 0.2
GRACE_S = 3.0
"""Seconds between the request to end and the end."""

_SUBREAPER = 36

# The trainer comes first for the processor; and whoever is started here ends with its supervisor.
_START = """
import ctypes, os, sys
os.nice(10)
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
try:
    os.execvp(sys.argv[1], sys.argv[1:])
except OSError as error:
    sys.exit(f"{sys.argv[1]}: {error.strerror}")
"""


class End(StrEnum):
    """How a process ended."""

    EXITED = "exited"
    KILLED = "killed"
    """By a signal that did not come from here."""
    TIME_OUT = "time_out"
    STOPPED = "stopped"
    """Whoever waits for it was asked to stop."""
    NOT_STARTED = "not_started"


@dataclass(frozen=True)
class Ended:
    """What is known of a process that is over."""

    end: End
    code: int | None
    """Its exit status; negative for a signal, None if it was never started."""
    seconds: float
    out: str
    err: str
    left: int = 0
    """Processes that were still there, and were ended."""


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limit_s: float,
    look: Callable[[], None],
    stop_asked: Callable[[], bool],
) -> Ended:
    """Run a command to its end, or end it.

    Args:
        command: The program and its arguments.
        cwd: Where it starts.
        env: Its whole environment.
        limit_s: Seconds that it may take.
        look: Called several times a second while it runs.
        stop_asked: True when it should end now.
    """
    _adopt_orphans()
    before = descendants()
    began = time.monotonic()
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, *command],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Ended(End.NOT_STARTED, None, 0.0, "", f"{command[0]}: {error.strerror}")
    assert child.stdout is not None and child.stderr is not None
    readers = [_Reader(child.stdout), _Reader(child.stderr)]
    end = None
    try:
        while child.poll() is None:
            look()
            if time.monotonic() - began > limit_s:
                end = End.TIME_OUT
                break
            if stop_asked():
                end = End.STOPPED
                break
            time.sleep(POLL_S)
    finally:
        if child.poll() is None:
            _signal_group(child.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(GRACE_S)
        _signal_group(child.pid, signal.SIGKILL)
        code = child.wait()
        left = _end_all(before)
    out, err = (reader.text() for reader in readers)
    ended = end or (End.KILLED if code < 0 else End.EXITED)
    return Ended(ended, code, time.monotonic() - began, out, err, left)


def descendants() -> frozenset[int]:
    """Return the process ids of everything that descends from this process."""
    parents = {pid: parent for pid, (state, parent) in _processes().items() if state != "Z"}
    mine, newest = {os.getpid()}, {os.getpid()}
    while newest:
        newest = {pid for pid, parent in parents.items() if parent in newest} - mine
        mine |= newest
    return frozenset(mine - {os.getpid()})


def _processes() -> dict[int, tuple[str, int]]:
    """Return state and parent of every process by its id."""
    found: dict[int, tuple[str, int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                stat = Path("/proc", name, "stat").read_text(errors="replace")
                state, parent = stat.rpartition(")")[2].split()[:2]
                found[int(name)] = (state, int(parent))
    return found


class _Reader:
    """Drains one stream in a thread and keeps its beginning and its end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return what was kept, once the stream is over."""
        self._thread.join(GRACE_S)
        gap = f"\n[{self._dropped} bytes left out]\n".encode() if self._dropped else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", "replace")

    def _drain(self) -> None:
        with self._stream:
            while piece := os.read(self._stream.fileno(), 1 << 16):
                room = HEAD_BYTES - len(self._head)
                self._head += piece[:room]
                self._tail += piece[room:]
                if len(self._tail) > 2 * TAIL_BYTES:
                    self._dropped += len(self._tail) - TAIL_BYTES
                    del self._tail[:-TAIL_BYTES]


def _end_all(before: frozenset[int]) -> int:
    """End every descendant that was not there before; returns how many there were."""
    seen: set[int] = set()
    until = time.monotonic() + 2 * GRACE_S
    while left := descendants() - before:
        seen |= left
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        _reap_orphans(before)
        if time.monotonic() > until:
            break
        time.sleep(0.02)
    _reap_orphans(before)
    return len(seen)


def _reap_orphans(before: frozenset[int]) -> None:
    for pid, (state, parent) in _processes().items():
        if state == "Z" and parent == os.getpid() and pid not in before:
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, number)


def _adopt_orphans() -> None:
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
