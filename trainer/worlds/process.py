"""The trainer's end of one world's processes: start, orders, news, and a sure end.

One object stands for a keeper, its zygote and their episodes. The zygote runs the world's code:
its news are checked like any answer, and when it fails, the fault is a value. The environment
that the world sees holds no secret of the trainer's.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trainer.episode import StopReason
from trainer.task import Task
from trainer.worlds import processes
from trainer.worlds.calls import Fault, fault
from trainer.worlds.limits import Limits

if TYPE_CHECKING:
    from trainer.worlds.line import EpisodeLine

MAX_SHARED_BYTES = 3_072
"""Longest part of a payload that tasks may share (see `trainer.worlds.seam.EnvFactory`)."""
_CHECKOUT = Path(__file__).resolve().parents[2]
_MAX_NEWS_BYTES = 4_096
_NEWS_AT_ONCE = 64
_KEEPER_ANSWER_S = 5.0
_KEEPER_END_S = 10.0


class News(NamedTuple):
    """One packet from the zygote."""

    content: dict[str, Any]
    line: socket.socket | None
    """The trainer's end of a new episode."""


class Spare(NamedTuple):
    """A process that waits for its episode."""

    line: socket.socket
    """The trainer's end of it."""
    pid: int


class WorldProcess:
    """A world's keeper and zygote, seen from the trainer."""

    def __init__(self, world: str, folder: Path, bounds: Limits, *, period: int) -> None:
        """Start the processes; whether the world loads is told by `news` later.

        Args:
            world: The world's name, for messages.
            folder: The folder that holds its `env.py`.
            bounds: What it may use.
            period: The step-boundary count at which it was started.
        """
        self.world = world
        self.period = period
        self.ready = False
        self.fault: Fault | None = None
        """Why it is of no use any more; its processes are ending or gone then."""
        self.zygote: int | None = None
        self.fenced: bool | None = None
        """False when the world can reach the network, None as long as that is not known."""
        self.dying: dict[int, EpisodeLine] = {}
        """Episodes that died, by process id, until the zygote has told how."""
        self.episodes = 0
        """Episodes opened since the last step boundary."""
        self.spares: dict[int, Spare | None] = {}
        """Processes begun ahead, by number; None until the zygote has told of them."""
        self._prepared: set[str] = set()
        self._unsent: deque[bytes] = deque()
        self._scratch = Path(tempfile.mkdtemp(prefix="eau-world-"))
        self.control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lifeline, lifeline = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with control, lifeline:
                self._keeper = _start_keeper(
                    folder, self._scratch, control.fileno(), lifeline.fileno(), bounds
                )
        except OSError:
            self.let_go()
            self._scratch.rmdir()
            raise
        self.control.setblocking(False)
        self._lifeline.settimeout(_KEEPER_ANSWER_S)

    def order(self, content: dict[str, Any]) -> None:
        """Send an order to the zygote, now or when there is room."""
        self._unsent.append(json.dumps(content).encode())
        self.write()

    def prepare(self, task: Task) -> None:
        """Have the zygote read what a task shares with others, unless it has done so.

        Raises:
            ValueError: if what is shared does not fit into an order.
        """
        names = task.payload.get("shared", ())
        if not names:
            return
        shared = {name: task.payload[name] for name in names}
        order = {"world": task.world, "provenance": task.provenance, "payload": shared}
        content = json.dumps(order, sort_keys=True)
        if len(content.encode()) > MAX_SHARED_BYTES:
            raise ValueError(
                f"task {task.id!r} shares {len(content.encode())} bytes of payload; at most "
                f"{MAX_SHARED_BYTES} fit: share names of files, not what they hold"
            )
        if content not in self._prepared:
            self._prepared.add(content)
            self.order({"prepare": order})

    @property
    def unsent(self) -> bool:
        """True when orders wait for room in the socket."""
        return bool(self._unsent)

    def write(self) -> None:
        """Send waiting orders as far as there is room."""
        # A broken pipe shows again, as the end of the stream, when news are read.
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError, OSError):
            while self._unsent:
                self.control.send(self._unsent[0])
                self._unsent.popleft()

    def collect(self, pid: int, line: EpisodeLine | None) -> None:
        """Have an ended episode collected; `line` hears how it ended."""
        if self.fault is not None:
            return
        if line is not None:
            self.dying[pid] = line
        self.order({"end": pid})

    def news(self) -> list[News]:
        """Take the packets that have arrived; falls when the zygote has ended or talks nonsense."""
        packets: list[News] = []
        while self.fault is None and len(packets) < _NEWS_AT_ONCE:
            try:
                content, descriptors, _, _ = socket.recv_fds(
                    self.control, _MAX_NEWS_BYTES, 1, socket.MSG_CMSG_CLOEXEC
                )
            except BlockingIOError:
                break
            except ConnectionResetError:
                # The zygote ended before it had read all orders: what it said comes after this.
                continue
            lines = [socket.socket(fileno=descriptor) for descriptor in descriptors]
            if not content:
                if packets:  # its last words come first; the end stays readable
                    break
                self.fall(fault(StopReason.WORLD_DIED, f"the process of {self.world} ended"))
                break
            packet = _read_news(content)
            if packet is None or not self._believable(packet):
                for line in lines:
                    line.close()
                self.fall(
                    fault(StopReason.WORLD_INVALID, f"{self.world} sent no news: {content!r}")
                )
                break
            packets.append(News(packet, lines[0] if lines else None))
        return packets

    def fall(self, reason: Fault) -> None:
        """Give the processes up; they end while the trainer goes on."""
        self.fault = self.fault or reason
        self.let_go()

    def let_go(self) -> None:
        """Close all sockets: the keeper ends everything once its lifeline is closed."""
        self.control.close()
        self._lifeline.close()
        for spare in self.spares.values():
            if spare is not None:
                spare.line.close()
        self.spares.clear()
        self._unsent.clear()

    def wait_gone(self) -> None:
        """Return when no process of the world is left; what the keeper cannot end is ended here."""
        keeper = self._keeper.pid
        if self._keeper.returncode is None:
            if not _ended_well(keeper, by=time.monotonic() + _KEEPER_END_S):
                for pid in processes.in_session(keeper):
                    processes.kill(pid)
            self._keeper.wait()
        # The keeper removes its folder; one that was killed could not.
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _believable(self, packet: dict[str, Any]) -> bool:
        """True unless a packet names a process that is none of the zygote's."""
        if self.zygote is None and not self._learn_zygote():
            return False
        if not all(isinstance(packet.get(name, 0), int) for name in ("forked", "pid", "ended")):
            return False
        return "forked" not in packet or processes.parent_of(packet.get("pid", 0)) == self.zygote

    def _learn_zygote(self) -> bool:
        """Ask the keeper, which runs no code of the world, for the zygote's process id."""
        try:
            content = self._lifeline.recv(_MAX_NEWS_BYTES)
        except (TimeoutError, ConnectionResetError):
            return False
        packet = _read_news(content)
        if packet is None:
            return False
        self.zygote, self.fenced = packet["zygote"], packet["fenced"]
        return True


def _start_keeper(
    folder: Path, scratch: Path, control: int, lifeline: int, bounds: Limits
) -> subprocess.Popen[bytes]:
    """Start `python -m trainer.worlds.keeper` in a session and environment of its own."""
    arguments = [folder.resolve(), scratch, control, lifeline, os.getpid()]
    return subprocess.Popen(
        [
            *(sys.executable, "-B", "-s", "-P", "-m", "trainer.worlds.keeper"),
            *map(str, arguments),
            json.dumps(bounds.to_json()),
        ],
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": str(scratch),
            "TMPDIR": str(scratch),
            "PYTHONPATH": str(_CHECKOUT),
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "OMP_WAIT_POLICY": "passive",
        },
        cwd=scratch,
        pass_fds=(control, lifeline),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _ended_well(pid: int, *, by: float) -> bool:
    """Wait for a child's end without collecting it; False if it did not end, or not with 0."""
    while time.monotonic() < by:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is not None:
            return ended.si_code == os.CLD_EXITED and ended.si_status == 0
        time.sleep(0.002)
    return False


def _read_news(content: bytes) -> dict[str, Any] | None:
    try:
        packet = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return packet if isinstance(packet, dict) else None
