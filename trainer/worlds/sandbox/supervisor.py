"""The supervisor of one program: cells until every call has an outcome, and no later than agreed.

A call that takes too long, exits or crashes costs itself alone: its cell is killed, and the next
cell goes on with the call after it. Time is measured here and never by the cell, so a program
cannot switch its limits off. Reports are carried, not understood.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import tempfile
import time
from dataclasses import dataclass, field

from trainer.worlds.sandbox import cell
from trainer.worlds.sandbox.program import Outcome, Program

_LOOK_S = 0.05
_PIECE_BYTES = 1 << 16


class DesertedError(Exception):
    """Nobody waits for the program any more."""


class RefusedError(Exception):
    """The program was not run, because no fence would have held it."""


@dataclass
class Supervisor:
    """One program's run; `results` are pairs of outcome and text, in the order of the calls."""

    program: Program
    client: socket.socket
    results: list[tuple[str, str]] = field(default_factory=list)
    sandboxed: bool = True
    _home: str = ""
    _num_bytes: int = 0

    def run(self) -> None:
        """Fill `results` with one pair for every call.

        Raises:
            DesertedError: if the client has gone away.
            RefusedError: if there is no fence and the program asks for one.
            OSError: if no cell can be started.
        """
        deadline = time.monotonic() + self.program.bounds.total_s
        while len(self.results) < len(self.program.calls):
            outcome, whole = self._run_cell(deadline)
            if outcome is not None:
                left = len(self.program.calls) - len(self.results)
                self.results += [(outcome, "")] * (left if whole else min(left, 1))

    def _run_cell(self, deadline: float) -> tuple[Outcome | None, bool]:
        """Run one cell; return what ended it early, and whether that goes for all further calls."""
        self._home = tempfile.mkdtemp(prefix="eau-cell-")
        if os.geteuid() == 0:
            os.chmod(self._home, 0o777)  # the cell becomes nobody
        here, there = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            cell.live(self.program, len(self.results), there, self._home, parent)
        os.close(there)
        try:
            return self._read(pid, here, deadline)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(here)
            shutil.rmtree(self._home, ignore_errors=True)

    def _read(self, pid: int, pipe: int, deadline: float) -> tuple[Outcome | None, bool]:
        bounds = self.program.bounds
        buffer = bytearray()
        expected = cell.HELD
        began, spent = time.monotonic(), 0.0
        poller = select.poll()
        poller.register(pipe, select.POLLIN)
        poller.register(self.client, select.POLLRDHUP)
        while True:
            ready = dict(poller.poll(_LOOK_S * 1000))
            if self.client.fileno() in ready:
                raise DesertedError
            if pipe in ready:
                piece = os.read(pipe, _PIECE_BYTES)
                if not piece:
                    return Outcome.DIED, expected < 0
                self._num_bytes += len(piece)
                buffer += piece
                while (report := _cut(buffer)) is not None:
                    index, outcome, text = report
                    if index != expected or outcome is None:
                        return Outcome.FLOODED, True
                    ended = self._take(index, outcome, text)
                    if ended is not None or len(self.results) == len(self.program.calls):
                        return ended, True
                    expected = index + 1 if index != cell.READY else len(self.results)
                    began, spent = time.monotonic(), _processor_s(pid)
            if self._num_bytes > bounds.answer_bytes:
                return Outcome.FLOODED, True
            now = time.monotonic()
            if now >= deadline:
                return Outcome.TIMEOUT, True
            if now - began >= bounds.wait_s or _processor_s(pid) - spent >= bounds.call_s:
                return Outcome.TIMEOUT, expected < 0

    def _take(self, index: int, outcome: Outcome, text: str) -> Outcome | None:
        """Keep a report; return an outcome if it goes for all calls."""
        if index == cell.HELD:
            self.sandboxed = outcome is Outcome.VALUE
            if self.sandboxed:
                # It can make no file there, and so a killed supervisor leaves no folder behind.
                os.rmdir(self._home)
            if not self.sandboxed and self.program.refuse_unsandboxed:
                raise RefusedError
        elif index == cell.READY:
            return None if outcome is Outcome.VALUE else outcome
        else:
            self.results.append((outcome, text))
        return None


def _cut(buffer: bytearray) -> tuple[int, Outcome | None, str] | None:
    """Take the first whole report off a buffer; its outcome is None when it is no report."""
    if len(buffer) < cell.REPORT.size:
        return None
    index, number, length = cell.REPORT.unpack_from(buffer)
    end = cell.REPORT.size + length
    if len(buffer) < end:
        return None
    text = bytes(buffer[cell.REPORT.size : end]).decode("ascii", "replace")
    del buffer[:end]
    return index, cell.OUTCOMES[number] if number < len(cell.OUTCOMES) else None, text


def _processor_s(pid: int) -> float:
    """Return the processor seconds that a child has used, by the kernel's clock for it."""
    return time.clock_gettime((~pid << 3) | 2)
