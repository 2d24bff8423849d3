"""A sampler whose turns are written elsewhere, each when the test lets it, for concurrent play.

What it writes is decided by the dialogue, the turn and its seed alone, so it may also be asked in
lockstep and says the same.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.trainer.rollout.cast import ScriptedSampler
from trainer.policy.sampler import Completion, Finish, Sampler, SampleRequest


@dataclass
class FlyingSampler(ScriptedSampler):
    """Lands a turn after its delay, or when a test releases the dialogue."""

    delay_s: Callable[[SampleRequest], float] = lambda request: 0.0
    held: set[str] = field(default_factory=set)
    """Dialogues whose turns land only when they are let go or aborted."""
    aborted: list[str] = field(default_factory=list)
    deaf: bool = False
    """Whether an abort is not heard, so that nothing comes back."""
    on_land: Callable[[str], None] = lambda key: None
    most_in_flight: int = 0
    _landed: queue.SimpleQueue[tuple[str, Completion]] = field(default_factory=queue.SimpleQueue)
    _flying: dict[str, tuple[Completion, Callable[[], None]]] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    def begin(
        self,
        requests: Sequence[SampleRequest],
        *,
        temperature: float,
        greedy: bool = False,
        ring: Callable[[], None],
    ) -> None:
        """Begin a turn for every request."""
        for request in requests:
            key = request.dialogue
            with self._lock:
                assert key not in self._flying, "one turn of a dialogue at a time"
                self._flying[key] = self._complete(request), ring
                self.most_in_flight = max(self.most_in_flight, len(self._flying))
            delay_s = self.delay_s(request)
            if key in self.held:
                continue
            if delay_s:
                timer = threading.Timer(delay_s, self.let_go, (key,))
                timer.daemon = True
                timer.start()
            else:
                self.let_go(key)

    def finished(self) -> list[tuple[str, Completion]]:
        """Return what has landed."""
        landed: list[tuple[str, Completion]] = []
        while not self._landed.empty():
            landed.append(self._landed.get_nowait())
        for key, _ in landed:
            self.on_land(key)
        return landed

    def abort(self, dialogues: Sequence[str]) -> None:
        """Let turns land as failed."""
        self.aborted += dialogues
        for key in () if self.deaf else dialogues:
            self.let_go(key, Completion((), (), Finish.FAILED, self.policy_version, "aborted"))

    def let_go(self, key: str, completion: Completion | None = None) -> None:
        """Land a turn, as it was written or as told; one that has landed stays as it is."""
        with self._lock:
            flight = self._flying.pop(key, None)
        if flight is not None:
            self._landed.put((key, completion or flight[0]))
            flight[1]()

    def release(self, dialogues: Sequence[str]) -> None:
        """Forget turns in flight."""
        super().release(dialogues)
        with self._lock:
            for key in dialogues:
                self._flying.pop(key, None)


class Grounded:
    """The same sampler, asked in lockstep."""

    def __init__(self, sampler: Sampler) -> None:
        self.policy_version = sampler.policy_version
        self.sample = sampler.sample
        self.release = sampler.release
        self.sync = sampler.sync
        self.health = sampler.health
        self.incidents = sampler.incidents
        self.close = sampler.close
