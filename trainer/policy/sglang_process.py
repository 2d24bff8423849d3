"""A server of our own: its start, its log and its certain end.

It runs on the leash of `gate.leash`, so it ends with this process however that one ends, and so
does whatever it started itself. What it serves is not known here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainer.policy.sglang_client import ServerClient, ServerGone
from trainer.policy.sglang_config import LaunchConfig
from trainer.policy.sglang_group import free_port

HOST = "127.0.0.1"
POLL_S = 0.25
END_S = 20.0
LOG_LINES = 12
"""Lines of a server's log that a message quotes."""
_FOREVER = 10 * 365 * 86400
_QUIET_BYTES = 1 << 20
_OF_A_RANK = frozenset(
    "RANK LOCAL_RANK GROUP_RANK ROLE_RANK CROSS_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_WORLD_SIZE "
    "ROLE_WORLD_SIZE LOCAL_SIZE CROSS_SIZE ROLE_NAME MASTER_ADDR MASTER_PORT".split()
)
_CHECKOUT = Path(__file__).resolve().parents[2]

# The leash sees the program's end when its standard output closes. All that a server says goes
# to its log, so the stream is kept open by a descriptor that it does not know.
_LOGGED = 'log=$1; shift; exec "$@" 3>&1 >"$log" 2>&1'


class ServerProcess:
    """One server that this process started.

    Args:
        config: How servers are started.
        replica: Number of this one, from 0.
        model_path: Directory with the weights.
        stamp: Weight version that it serves at first.
        folder: Where its log and its temporary files go; a short path, for sockets lie there.
    """

    def __init__(
        self, config: LaunchConfig, *, replica: int, model_path: Path, stamp: str, folder: Path
    ) -> None:
        self.url = f"http://{HOST}:{(port := free_port())}"
        self._ready_s = config.ready_s
        self._log = folder / f"server-{replica}.log"
        command = server_command(config, model_path=model_path, port=port, stamp=stamp)
        # The path on which the leash finds its package is none of the server's business.
        theirs = ("env", f"PYTHONPATH={_named(config, replica).get('PYTHONPATH', '')}")
        leash = (sys.executable, "-B", "-P", "-m", "gate.leash")
        bounds = (str(folder / f"server-{replica}.json"), str(_FOREVER), str(_QUIET_BYTES))
        self._process = subprocess.Popen(
            [*leash, *bounds, "sh", "-c", _LOGGED, "sh", str(self._log), *theirs, *command],
            # Held open by us alone: the leash ends the server when it closes.
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={
                **unlaunched(os.environ),
                # Spinning threads, more of them than cores, were measured ten times slower.
                "OMP_WAIT_POLICY": "passive",
                # Its sockets and files go with our folder, since a killed server leaves them.
                "TMPDIR": str(folder),
                **_named(config, replica),
                "PYTHONPATH": str(_CHECKOUT),
            },
            start_new_session=True,
        )

    @property
    def is_running(self) -> bool:
        """False once the server has ended, for whatever reason."""
        return self._process.poll() is None

    def wait_until_healthy(self, client: ServerClient) -> None:
        """Wait until the server can write a token.

        Raises:
            ServerGone: if it ended before, or took too long; the message quotes its log.
        """
        deadline = time.monotonic() + self._ready_s
        while not client.is_healthy():
            if not self.is_running:
                raise ServerGone(f"the SGLang server ended at its start; its log:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise ServerGone(
                    f"the SGLang server was not healthy within {self._ready_s:g} s (raise "
                    f"sampler.launch.ready_s if it was still loading); its log:\n{self.tail()}"
                )
            time.sleep(POLL_S)

    def tail(self) -> str:
        """Return the last lines of its log."""
        try:
            lines = self._log.read_text("utf-8", "replace").splitlines()
        except OSError:
            return "(it wrote none)"
        return "\n".join(line[:300] for line in lines[-LOG_LINES:])

    def end(self) -> None:
        """End the server and everything that it started."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def unlaunched(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what a launcher of ranks put there.

    A server that is started by a rank is none: it would look for the other ranks of a job that is
    not its own, and wait.
    """
    return {
        name: value
        for name, value in environment.items()
        if name not in _OF_A_RANK and not name.startswith("TORCHELASTIC_")
    }


def server_command(config: LaunchConfig, *, model_path: Path, port: int, stamp: str) -> list[str]:
    """Return the command line of a server.

    Args:
        config: Interpreter and options.
        model_path: Directory with the weights.
        port: Where it listens, on this machine alone.
        stamp: Weight version that it serves at first.
    """
    fixed: Mapping[str, Any] = {
        "model-path": model_path,
        "host": HOST,
        "port": port,
        "weight-version": stamp,
        "skip-tokenizer-init": True,
    }
    return [config.python, "-m", "sglang.launch_server", *_flags({**config.options, **fixed})]


def _flags(options: Mapping[str, Any]) -> Sequence[str]:
    flags: list[str] = []
    for name, value in options.items():
        if value is True:
            flags.append(f"--{name}")
        elif value is not None and value is not False:
            flags += [f"--{name}", str(value)]
    return flags


def _named(config: LaunchConfig, replica: int) -> dict[str, str]:
    """Return the variables that the recipe sets for one server."""
    named = config.environment.items()
    return {name: value.replace("{replica}", str(replica)) for name, value in named}
