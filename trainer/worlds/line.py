"""The trainer's end of one episode: bytes out, one checked result back, and its end.

Nothing here waits: `trainer.worlds.host` says when there is something to read or room to write.
A line that has met a fault is over and answers every later call with it.
"""

from __future__ import annotations

import contextlib
import signal
import socket

from trainer.episode import StopReason
from trainer.worlds import processes, wire
from trainer.worlds.answers import read_answer
from trainer.worlds.calls import METHODS, Call, Fault, Result, fault
from trainer.worlds.process import WorldProcess

_PIECE_BYTES = 1 << 18
_SIGNALS = {member.value: member.name for member in signal.Signals}


class EpisodeLine:
    """One episode as the trainer sees it, from `open` to `close`."""

    def __init__(self, process: WorldProcess, begin: bytes, *, may_ask: bool = False) -> None:
        """Prepare a line whose first request is `begin`; it connects later, or never.

        Args:
            process: The world's process.
            begin: What to say first.
            may_ask: Whether the world may answer with questions to a judge.
        """
        self.process = process
        self._may_ask = may_ask
        self.result: Result | None = process.fault
        """The answer to the call in progress, or the fault that ended the episode."""
        self.died = False
        """True when the episode's process ended by itself."""
        self._socket: socket.socket | None = None
        self._closed = False
        self._pid = 0
        self._unsent = bytearray(wire.frame(begin))
        self._reader = wire.FrameReader(wire.MAX_ANSWER_BYTES)
        self._method = "start"

    @property
    def over(self) -> bool:
        """True after a fault."""
        return isinstance(self.result, Fault)

    @property
    def connected(self) -> bool:
        """True when the episode's process is there and has not been given up."""
        return self._socket is not None

    @property
    def unexplained(self) -> bool:
        """True when its process has died and nobody has told how yet."""
        return self.died and self in self.process.dying.values()

    @property
    def unsent(self) -> bool:
        """True when bytes wait for room in the socket."""
        return bool(self._unsent)

    def fileno(self) -> int:
        """The file descriptor to poll, or -1."""
        return self._socket.fileno() if self._socket is not None else -1

    def connect(self, line: socket.socket, pid: int) -> None:
        """Take the socket to the episode's process."""
        line.setblocking(False)
        self._socket, self._pid = line, pid
        if self._closed:
            self.close()
        self.write()

    def ask(self, call: Call) -> None:
        """Send one call, or as much of it as there is room for."""
        self.result = None
        self._method = METHODS[type(call)]
        self._unsent += wire.frame(wire.call_request(call))
        self.write()

    def write(self) -> None:
        """Send what is unsent, as far as there is room."""
        if self._socket is None or not self._unsent:
            return
        # A broken pipe shows again, as the end of the stream, when the answer is read.
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            sent = self._socket.send(self._unsent)
            del self._unsent[:sent]

    def read(self) -> None:
        """Take what has arrived; sets `result` once the answer is whole, or can never be."""
        if self._socket is None:
            return
        try:
            piece = self._socket.recv(_PIECE_BYTES)
        except BlockingIOError:
            return
        except ConnectionResetError:
            piece = b""
        if not piece:
            self.died = True
            self.fail(fault(StopReason.WORLD_DIED, f"its process ended during {self._method}"))
            return
        try:
            content = self._reader.feed(piece)
        except wire.TooLongError as error:
            self.fail(fault(StopReason.WORLD_FLOODED, f"{self._method}: {error}"))
            return
        if content is None:
            return
        if self._reader.pending:
            self.fail(fault(StopReason.WORLD_INVALID, f"more than one answer to {self._method}"))
            return
        result = read_answer(self._method, content, may_ask=self._may_ask)
        if isinstance(result, Fault):
            self.fail(result)
        self.result = result

    def miss(self, deadline_s: float) -> None:
        """Give the episode up because its deadline has passed."""
        self.fail(
            fault(StopReason.WORLD_HUNG, f"no answer to {self._method} within {deadline_s:g} s")
        )

    def fail(self, reason: Fault) -> None:
        """End the episode with a fault; the first one stays."""
        if not self.over:
            self.result = reason
        self.close()

    def explain(self, status: object) -> None:
        """Add to a death how the process ended: its exit code, or minus the signal's number."""
        if isinstance(status, int) and -status in _SIGNALS:
            how = f"was killed by {_SIGNALS[-status]}"
        else:
            how = f"ended with exit code {status}"
        self.result = fault(StopReason.WORLD_DIED, f"its process {how} during {self._method}")

    def close(self) -> None:
        """Kill the episode's process and its group, and let its zygote collect it."""
        self._closed = True
        if self._socket is None:
            return
        self._socket.close()
        self._socket = None
        self._unsent.clear()
        if self.process.zygote is not None:
            processes.kill_group(self._pid, child_of=self.process.zygote)
        self.process.collect(self._pid, self if self.died else None)
