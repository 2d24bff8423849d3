"""The servers of a run: started or joined, who writes which dialogue, and who is down.

A dialogue stays with one server, which then has its keys and values. One that is gone hands its
dialogues to the others. Weights and turns are not this module's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.policy.sampler import SamplerFault
from trainer.policy.sglang_client import ServerClient, ServerGone
from trainer.policy.sglang_config import SamplerConfig
from trainer.policy.sglang_process import ServerProcess
from trainer.policy.sglang_serving import home

POLL_S = 0.5


class SamplerLost(SamplerFault):
    """No server is left that could write a turn."""


@dataclass
class Replica:
    """One server, and what is known about it."""

    number: int
    client: ServerClient
    process: ServerProcess | None = None
    """None for a server that was joined, not started."""
    is_up: bool = True
    restarts: int = 0
    """How often it had to be started, or found, again."""
    stamp: str = ""
    """Weight version that it was last seen to serve."""
    digest: str | None = None
    """Of the learner's weights when it was last found to agree."""
    checksum: str | None = None
    """Of its own weights then."""

    def to_json(self) -> dict[str, Any]:
        """Return what `status.json` tells about it."""
        return {
            "url": self.client.url,
            "up": self.is_up,
            "weights": self.stamp,
            "restarts": self.restarts,
        }


class Fleet:
    """All servers of a run.

    Args:
        config: Which servers, and how they are started.
        folder: Where logs go.
        sleep: Waits so many seconds.
    """

    def __init__(
        self,
        config: SamplerConfig,
        folder: Path,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._config = config
        self._folder = folder
        self._sleep = sleep
        self._in_a_row = 0
        self.replicas: list[Replica] = []

    def start(self, model_path: Path, stamp: str) -> None:
        """Start all servers at once, or find those that run already.

        Args:
            model_path: Directory with the weights that started ones serve.
            stamp: Weight version of these.

        Raises:
            SamplerLost: if one does not come up; the message quotes its log.
            SamplerFault: if a router answers where a server should.
        """
        urls = self._config.urls
        if urls:
            self.replicas = [Replica(i, self._client(url)) for i, url in enumerate(urls)]
        else:
            for number in range(self._config.launch.replicas):
                process = self._launch(number, model_path, stamp)
                replica = Replica(number, self._client(process.url), process, stamp=stamp)
                self.replicas.append(replica)
        for replica in self.replicas:
            try:
                self._wait(replica, self._config.launch.ready_s)
                self._refuse_router(replica)
            except ServerGone as error:
                raise SamplerLost(str(error)) from error

    def up(self) -> list[Replica]:
        """Return the servers that answer."""
        return [replica for replica in self.replicas if replica.is_up]

    def down(self) -> list[Replica]:
        """Return the servers that do not."""
        return [replica for replica in self.replicas if not replica.is_up]

    def of(self, dialogue: str) -> Replica:
        """Return the server that writes a dialogue: the same one while it is up.

        Raises:
            SamplerLost: if none is up.
        """
        up = self.up()
        if not up:
            raise SamplerLost("no SGLang server is up")
        return home(dialogue, up)

    def at(self, url: str) -> Replica:
        """Return the server with an address."""
        return next(replica for replica in self.replicas if replica.client.url == url)

    def wrote(self) -> None:
        """Note that turns were written: what was started again works."""
        self._in_a_row = 0

    def bring_back(self, replica: Replica, model_path: Path, stamp: str, *, wait: bool) -> None:
        """Start a server again, or wait for one that was joined to answer.

        Args:
            replica: The server; if it was started here, whatever is left of it is ended first.
            model_path: Directory with the weights that it then serves, if it is started.
            stamp: Weight version of these.
            wait: Whether to wait for a joined one that is not there yet.

        Raises:
            ServerGone: if it does not come back.
            SamplerLost: if it came back too often without writing a turn.
        """
        if replica.process is not None:
            most = self._config.launch.restarts
            if self._in_a_row >= most:
                raise SamplerLost(
                    f"SGLang servers were started {most} times again and wrote no turn; the last "
                    f"one's log:\n{replica.process.tail()}"
                )
            self._in_a_row += 1
            replica.process.end()
            replica.process = self._launch(replica.number, model_path, stamp)
            replica.stamp = stamp
        # What is left of an old connection would speak for the server that is gone.
        replica.client.close()
        url = replica.process.url if replica.process is not None else replica.client.url
        replica.client = self._client(url)
        replica.digest = replica.checksum = None
        self._wait(replica, self._config.launch.ready_s if wait or replica.process else 0.0)
        replica.restarts += 1
        replica.is_up = True

    def close(self) -> None:
        """End the servers that were started; leave those that were joined."""
        for replica in self.replicas:
            replica.client.close()
            if replica.process is not None:
                replica.process.end()
        self.replicas = []

    def _client(self, url: str) -> ServerClient:
        return ServerClient(url, timeout_s=self._config.control_s)

    def _launch(self, number: int, model_path: Path, stamp: str) -> ServerProcess:
        return ServerProcess(
            self._config.launch,
            replica=number,
            model_path=model_path,
            stamp=stamp,
            folder=self._folder,
        )

    def _refuse_router(self, replica: Replica) -> None:
        behind = replica.client.behind() if replica.process is None else []
        if behind:
            raise SamplerFault(
                f"sampler.urls: a router answers at {replica.client.url}; weights go to each "
                "server by itself, which a router does not pass on: name the servers behind it, "
                f"{', '.join(behind)}"
            )

    def _wait(self, replica: Replica, seconds: float) -> None:
        if replica.process is not None:
            replica.process.wait_until_healthy(replica.client)
            return
        deadline = time.monotonic() + seconds
        while not replica.client.is_healthy():
            if time.monotonic() >= deadline:
                raise ServerGone(
                    f"{replica.client.url} is not healthy after {seconds:g} s; start the server, "
                    "or take it out of sampler.urls"
                )
            self._sleep(POLL_S)
