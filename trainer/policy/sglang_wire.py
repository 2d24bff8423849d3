"""The wire to SGLang servers: one thread whose event loop carries all turns at once.

A turn that was sent lands once: with what its server wrote, with the word that the server is gone,
or as aborted. Which server writes a turn, and what follows from a landing, is not known here.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

import httpx

from trainer.policy.sampler import Finish
from trainer.policy.sglang_client import ServerGone
from trainer.policy.sglang_turns import Sent, Wanted, Written, abort_turn, failed, write_turn

HEALTH_S = 5.0
"""How long a server that failed a turn may take to say that it is well."""
ABORTED = "the turn was aborted; nobody waits for it any more"

Ring = Callable[[], None]
"""Called, from any thread, whenever a turn has ended."""


class Landing(NamedTuple):
    """What the wire brought back of a turn."""

    sent: Sent
    outcome: Written | ServerGone | BaseException
    is_well: bool
    """False where the server failed the turn and is not healthy any more."""


class Wire:
    """The thread that carries turns; begun with the first one."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._up = threading.Event()
        self._landed: queue.SimpleQueue[Landing] = queue.SimpleQueue()
        self._tasks: dict[str, asyncio.Task[tuple[Written | ServerGone, bool]]] = {}
        self._loop: asyncio.AbstractEventLoop
        self._end: asyncio.Event
        self._http: httpx.AsyncClient

    def send(self, sent: Sent, wanted: Wanted, ring: Ring) -> None:
        """Carry a turn to its server; what came of it lands, and `ring` tells."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._serve()), name="sglang-turns", daemon=True
            )
            self._thread.start()
            self._up.wait()
        self._loop.call_soon_threadsafe(self._take_off, sent, wanted, ring)

    def abort(self, rid: str) -> None:
        """Stop a turn here and at its server; it lands when the server has heard of it."""
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._cancel, rid)

    def landed(self) -> Iterable[Landing]:
        """Yield what has come back since this was last asked."""
        while not self._landed.empty():
            yield self._landed.get_nowait()

    def close(self) -> None:
        """Abort what is under way and end the thread."""
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join()
            self._thread = None
            self._up.clear()

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        # A kept connection may be closed by its server in the moment in which it is used again,
        # which would look like the server's death.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(limits=limits, timeout=None, trust_env=False) as self._http:
            self._up.set()
            await self._end.wait()
            flying = list(self._tasks.values())
            for task in flying:
                task.cancel()
            await asyncio.gather(*flying, return_exceptions=True)

    def _take_off(self, sent: Sent, wanted: Wanted, ring: Ring) -> None:
        task = self._loop.create_task(self._fly(sent, wanted))
        self._tasks[sent.rid] = task
        task.add_done_callback(lambda done: self._land(sent, wanted, ring, done))

    def _cancel(self, rid: str) -> None:
        task = self._tasks.get(rid)
        if task is not None:
            task.cancel()

    def _land(
        self,
        sent: Sent,
        wanted: Wanted,
        ring: Ring,
        task: asyncio.Task[tuple[Written | ServerGone, bool]],
    ) -> None:
        del self._tasks[sent.rid]
        if task.cancelled():
            landing = Landing(sent, failed(ABORTED, wanted), True)
        elif (error := task.exception()) is not None:
            # A fault of this program: it is raised where somebody asks what has landed.
            landing = Landing(sent, error, True)
        else:
            landing = Landing(sent, *task.result())
        self._landed.put(landing)
        ring()

    async def _fly(self, sent: Sent, wanted: Wanted) -> tuple[Written | ServerGone, bool]:
        try:
            outcome = await write_turn(self._http, sent, wanted)
            if isinstance(outcome, Written) and outcome.completion.finish is Finish.FAILED:
                return outcome, await self._is_well(sent.url)
            return outcome, True
        except asyncio.CancelledError:
            await abort_turn(self._http, sent)
            raise

    async def _is_well(self, url: str) -> bool:
        try:
            async with asyncio.timeout(HEALTH_S):
                return (await self._http.get(f"{url}/health")).is_success
        except (TimeoutError, httpx.HTTPError):
            return False
