"""A world's zygote: loads the world once and forks one process per episode.

Orders come over a control socket, one JSON value per packet: `{"fork": n}` begins episode n and
is answered with its process id and, as ancillary data, the trainer's end of a socket to it;
`{"end": pid}` ends and collects one; `{"prepare": {...}}` has the world read what tasks share. This
process runs the world's code, so the trainer
believes nothing that it says; `trainer.worlds.keeper` watches over it. It imports no tensor
library: a fork has to stay cheap.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import socket
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from trainer import task as tasks
from trainer.worlds import limits, processes, wire
from trainer.worlds.declaration import DeclarationError
from trainer.worlds.limits import Limits
from trainer.worlds.loading import WorldLoadError, declared_settings, load_world
from trainer.worlds.served import ServedEpisode

MAX_ORDER_BYTES = 4_096


def run(control: socket.socket, folder: Path, scratch: Path, bounds: Limits) -> None:
    """Serve orders until the trainer closes the control socket.

    Args:
        control: Socket of packets to the trainer, blocking.
        folder: The world's folder, with `env.py`.
        scratch: An empty folder; each episode gets one of its own in it.
        bounds: What the world may use.
    """
    limits.bind_world(bounds)
    try:
        world = load_world(folder)
        # Read once, here: every episode is a copy of this process.
        declared_settings(folder.resolve())
    except (WorldLoadError, DeclarationError) as error:
        _tell(control, {"failed": str(error)[:1_000]})
        return
    # Objects that exist now are never collected: a collection in a child would copy their pages.
    gc.collect()
    gc.freeze()
    _tell(control, {"ready": True})
    zygote = _Zygote(control, world, folder.resolve(), scratch, bounds)
    try:
        while order := control.recv(MAX_ORDER_BYTES):
            zygote.obey(json.loads(order))
    except OSError as error:
        # No process or no descriptor is left for another episode: the trainer is told and goes on.
        _tell(control, {"failed": f"the zygote ended: {error}"})


@dataclass
class _Zygote:
    control: socket.socket
    world: ModuleType
    folder: Path
    scratch: Path
    bounds: Limits
    homes: dict[int, Path] = field(default_factory=dict)

    def obey(self, order: dict[str, Any]) -> None:
        if "fork" in order:
            self._fork(int(order["fork"]))
        elif "prepare" in order:
            self._prepare(order["prepare"])
        else:
            self._end(int(order["end"]))

    def _prepare(self, shared: dict[str, Any]) -> None:
        """Let the world read shared data here, so that every episode finds it in its memory."""
        prepare = getattr(self.world, "prepare", None)
        if prepare is None:
            return
        # What it raises `make` raises again, where it costs an episode and is told.
        with contextlib.suppress(Exception, SystemExit):
            prepare(tasks.from_json({"id": "", "goal": "", "opening": "", **shared}))
        gc.collect()
        gc.freeze()

    def _fork(self, serial: int) -> None:
        far, near = socket.socketpair()
        home = self.scratch / str(serial)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            # Whatever happens in here, the child must not return into the zygote's loop.
            try:
                self.control.close()
                far.close()
                self._live(near, home, parent)
            finally:
                os._exit(0)
        # Both sides do this, so that the group exists before anyone may want to kill it.
        with contextlib.suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)
        self.homes[pid] = home
        news = json.dumps({"forked": serial, "pid": pid}).encode()
        socket.send_fds(self.control, [news], [far.fileno()])
        far.close()
        near.close()

    def _live(self, line: socket.socket, home: Path, parent: int) -> None:
        """Be one episode, from the first request to the end of the line."""
        os.setpgid(0, 0)
        limits.die_with_parent(parent)
        limits.bind_episode(self.bounds)
        home.mkdir()
        os.chdir(home)
        os.environ["HOME"] = os.environ["TMPDIR"] = str(home)
        tempfile.tempdir = None
        episode = ServedEpisode(self.world, self.folder)
        while (content := wire.read_frame(line)) is not None:
            request = json.loads(content)
            if request["do"] == "begin":
                episode.begin(request)
            else:
                line.sendall(wire.frame(episode.answer(request)))

    def _end(self, pid: int) -> None:
        """Kill and collect one episode; its id is free for others only from here on."""
        home = self.homes.pop(pid, None)
        if home is None:
            return
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended == 0:
            processes.kill_group(pid, child_of=os.getpid())
            _, status = os.waitpid(pid, 0)
        _remove(home)
        _tell(self.control, {"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def _remove(home: Path) -> None:
    try:
        home.rmdir()
    except FileNotFoundError:
        pass
    except OSError:
        shutil.rmtree(home, ignore_errors=True)


def _tell(control: socket.socket, news: dict[str, Any]) -> None:
    # A trainer that has gone away needs no news; the keeper ends this process.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        control.send(json.dumps(news).encode())


def ignore_terminal() -> None:
    """Take signals as the kernel's defaults have them, except an interrupt from a terminal."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
