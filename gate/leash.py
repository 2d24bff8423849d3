"""A leash: runs one program with limits and ends it for sure, whatever it or its owner does.

`python -m gate.leash ANSWER SECONDS BYTES PROGRAM...` runs a program in a process group of
its own and writes what became of it to the file ANSWER, whole. It ends the program, and all that
it left behind, at the deadline, when it says too much, and as soon as its own standard input
closes: that is held open by its owner alone, so the program never outlives the owner. What the
program does is not known here.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from gate.contract import files

LONGEST_COMPLAINT = 4_000
"""Bytes that are kept of the end of what the program writes to its standard error."""

_BLOCK = 1 << 16
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


class Ended(NamedTuple):
    """What became of a program."""

    how: int | str
    """Its exit status, or why it was ended."""
    said: bytes
    """What it wrote to its standard output."""
    complained: bytes
    """The end of what it wrote to its standard error."""


def main(arguments: Sequence[str]) -> int:
    """Run a program on the leash.

    Args:
        arguments: The file for the answer, the seconds it may take, the bytes it may write to
            its standard output, and the program with its own arguments.
    """
    answer, seconds, most, *program = arguments
    # What a dead child leaves behind becomes ours, so that it can be ended too.
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _children()
    ended = run(program, owner=sys.stdin.fileno(), seconds=float(seconds), most=int(most))
    _end_the_rest(before)
    told = {
        "ended": ended.how,
        "stdout": ended.said.decode("utf-8", "replace"),
        "stderr": ended.complained.decode("utf-8", "replace"),
    }
    files.write_whole(Path(answer), json.dumps(told).encode())
    return 0


def run(program: Sequence[str], *, owner: int, seconds: float, most: int) -> Ended:
    """Run a program to its end, or end it.

    Args:
        program: The program and its arguments.
        owner: A descriptor that becomes readable when whoever asked is gone.
        seconds: How long it may take.
        most: Bytes that it may write to its standard output.
    """
    try:
        child = subprocess.Popen(
            program,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_die_with_the_leash,  # the leash has one thread, so that is safe
        )
    except OSError as error:
        return Ended(f"could not be started: {error.strerror}", b"", b"")
    with child:
        deadline = time.monotonic() + seconds
        why, said, complained = _listen(child, owner, deadline, most)
        if not why:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = child.wait(max(deadline - time.monotonic(), 0.0))
                return Ended(status, said, complained)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    return Ended(why or f"took longer than {seconds:g} s", said, complained)


def _listen(
    child: subprocess.Popen[bytes], owner: int, deadline: float, most: int
) -> tuple[str, bytes, bytes]:
    """Read both streams to their end; the first value says why that was cut short."""
    assert child.stdout is not None and child.stderr is not None
    said, complained = bytearray(), bytearray()
    streams = {child.stdout.fileno(): said, child.stderr.fileno(): complained}
    while streams and (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([owner, *streams], [], [], left)
        if owner in ready:
            return "was ended with its owner", bytes(said), bytes(complained)
        for stream in ready:
            block = os.read(stream, _BLOCK)
            streams[stream] += block
            if not block:
                del streams[stream]
        del complained[:-LONGEST_COMPLAINT]
        if len(said) > most:
            return f"said more than {most} bytes", bytes(said[:most]), bytes(complained)
    return "", bytes(said), bytes(complained)


def _die_with_the_leash() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _end_the_rest(spared: Collection[int]) -> None:
    """End whatever the program left behind, generation by generation."""
    while left := _children() - set(spared):
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _children() -> set[int]:
    """Return the processes whose parent this one is, dead ones included."""
    found: set[int] = set()
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            # The name in brackets may hold anything; after it stand the state and the parent.
            stat = Path("/proc", str(int(entry)), "stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) == os.getpid():
                found.add(int(entry))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
