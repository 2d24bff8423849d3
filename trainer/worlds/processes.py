"""Who is whose child, read from /proc, and how to end a whole family.

A process id is believed only as long as its parent is the expected one, so a recycled id is never
signalled. Nothing here knows what the processes do.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_PROC = Path("/proc")


def parent_of(pid: int) -> int | None:
    """Return the parent's id, or None when there is no such process."""
    fields = _stat_fields(pid)
    return int(fields[1]) if fields is not None else None


def children_of(pid: int) -> list[int]:
    """Return the ids of a single-threaded process's children, zombies among them."""
    try:
        return list(map(int, (_PROC / f"{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        # Kernels without CONFIG_PROC_CHILDREN have no such file.
        return [other for other in _all_processes() if parent_of(other) == pid]


def in_session(session: int) -> list[int]:
    """Return the ids of all processes of a session, zombies left out."""
    found = []
    for pid in _all_processes():
        fields = _stat_fields(pid)
        if fields is not None and fields[3] == str(session) and fields[0] != "Z":
            found.append(pid)
    return found


def kill(pid: int) -> None:
    """Send SIGKILL to a process, if it is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_group(pid: int, *, child_of: int) -> None:
    """Send SIGKILL to a process and its group, if it is still the child of that parent."""
    if parent_of(pid) != child_of:
        return
    kill(pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def reap() -> dict[int, int]:
    """Collect this process's ended children without waiting; return status by id."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat from `state` on: state, parent, group, session, ..."""
    try:
        stat = (_PROC / f"{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name in parentheses may itself hold spaces and parentheses.
    return stat.rpartition(")")[2].split()


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
