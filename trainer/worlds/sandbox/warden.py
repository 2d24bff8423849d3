"""The warden: a warm Python without secrets that forks a supervisor for every program.

It was started by `trainer.worlds.sandbox.client` with an empty environment and one socket, the
door. Whoever holds the door's other end sends a socket through it, and is served over that. What
programs may import is imported here once; after that, a cell opens no file. The warden ends when
nobody holds the door any more.

    python -c "from trainer.worlds.sandbox import warden; warden.main()" with the door as 3
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import json
import os
import signal
import socket
import sys
import time

from trainer.worlds import fence, limits, wire
from trainer.worlds.sandbox import program as programs
from trainer.worlds.sandbox.program import SandboxError
from trainer.worlds.sandbox.supervisor import DesertedError, RefusedError, Supervisor

DOOR = 3
HELLO = b"ready"

IMPORTABLE = """
    abc argparse array ast base64 binascii bisect calendar cmath codecs collections
    collections.abc colorsys contextlib copy csv dataclasses datetime decimal difflib email.utils
    enum fractions functools graphlib hashlib heapq hmac html inspect io ipaddress itertools json
    keyword locale math numbers operator os os.path pathlib pprint queue random re secrets shlex
    statistics string struct sys textwrap threading time timeit traceback types typing unicodedata
    urllib.parse uuid warnings xml.etree.ElementTree zlib zoneinfo encodings.ascii
    encodings.idna encodings.latin_1 encodings.utf_16 encodings.utf_8_sig numpy
""".split()
"""Modules that a program may import: they are there before its fence is closed."""


def main() -> None:
    """Serve programs until nobody holds the door any more."""
    # A kernel that grants half of a namespace is no reason to run nothing: cells open no socket.
    with contextlib.suppress(OSError):
        fence.leave_network()
    for name in IMPORTABLE:
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name)
    time.localtime()
    gc.collect()
    gc.freeze()
    # Ended supervisors are collected by the kernel.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=DOOR) as door:
        door.send(HELLO)
        while True:
            message, descriptors, _, _ = socket.recv_fds(door, 1, 1)
            if not message:
                return
            # Whoever holds the door may send nonsense, or no descriptor may be left for a socket.
            if descriptors:
                with socket.socket(fileno=descriptors[0]) as client:
                    _fork_supervisor(door, client)


def _fork_supervisor(door: socket.socket, client: socket.socket) -> None:
    parent = os.getpid()
    # Without a process left, the client finds its socket closed and knows that nothing was run.
    with contextlib.suppress(BlockingIOError):
        if os.fork() == 0:
            try:
                limits.die_with_parent(parent)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                door.close()
                _serve(client)
            finally:
                os._exit(0)


def _serve(client: socket.socket) -> None:
    request = wire.read_frame(client)
    if request is None:
        return
    try:
        answer = _answer(programs.from_json(json.loads(request)), client)
    except DesertedError:
        return
    client.sendall(wire.frame(json.dumps(answer).encode()))


def _answer(program: programs.Program, client: socket.socket) -> dict[str, object]:
    supervisor = Supervisor(program, client)
    try:
        supervisor.run()
    except RefusedError:
        return {"failed": "no system-call filter is to be had here, and the program asks for one"}
    except (OSError, SandboxError) as error:
        return {"failed": f"no cell could be started: {error}"}
    return {"results": supervisor.results, "sandboxed": supervisor.sandboxed}


def command(python: str, roots: list[str]) -> list[str]:
    """Return the command line of a warden that finds its modules in `roots`."""
    start = (
        f"import sys; sys.path += {roots!r}; "
        "from trainer.worlds.sandbox import warden; warden.main()"
    )
    # Neither the user's site, nor the current folder, nor bytecode to be written anywhere.
    return [python, "-S", "-s", "-P", "-B", "-X", "utf8", "-c", start]


if __name__ == "__main__":
    sys.exit("start a warden through trainer.worlds.sandbox.client")
