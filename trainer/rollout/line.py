"""A line: what is asked of somebody slow, in threads, so that nobody else waits for the answer.

First come, first served, and no more at once than whoever answers can bear. With room for one
alone, all who wait by then are asked together. What is asked is not known here.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Told(NamedTuple, Generic[Answer]):
    """An answer, and how long it took once its turn had come."""

    key: str
    answer: Answer
    seconds: float


class _Done(NamedTuple, Generic[Answer]):
    """What came of those who were asked together."""

    keys: Sequence[str]
    told: Sequence[Answer] | BaseException
    seconds: float


@dataclass
class Line(Generic[Asked, Answer]):
    """Those who wait for one who answers; one thread calls its methods."""

    answer: Callable[[Sequence[Asked]], Sequence[Answer]]
    """Answers in order; called from several threads where `at_once` is above 1."""
    at_once: int
    clock: Callable[[], float]
    ring: Callable[[], None]
    """Called, from another thread, whenever an answer is there."""
    _waiting: deque[tuple[str, Asked]] = field(default_factory=deque)
    _began: dict[str, float] = field(default_factory=dict)
    _busy: int = 0
    _done: queue.SimpleQueue[_Done[Answer]] = field(default_factory=queue.SimpleQueue)

    def put(self, key: str, asked: Asked) -> None:
        """Ask something for a dialogue, now or as soon as there is room."""
        self._waiting.append((key, asked))
        self._start()

    def began_s(self, key: str) -> float | None:
        """Return when a dialogue's turn in the line came; None while it waits."""
        return self._began.get(key)

    @property
    def is_idle(self) -> bool:
        """True when nobody is being answered, and nobody waits."""
        return not self._busy and not self._waiting

    def finished(self) -> list[Told[Answer]]:
        """Return the answers that have come since this was last asked.

        Raises:
            BaseException: what whoever answers raised, since that is a fault of the program.
        """
        answers: list[Told[Answer]] = []
        while not self._done.empty():
            keys, told, seconds = self._done.get_nowait()
            self._busy -= 1
            if isinstance(told, BaseException):
                raise told
            for key, one in zip(keys, told, strict=True):
                del self._began[key]
                answers.append(Told(key, one, seconds))
        self._start()
        return answers

    def drop(self, key: str) -> None:
        """Let a dialogue that waits go; the answer to one that is being answered still comes."""
        self._waiting = deque(entry for entry in self._waiting if entry[0] != key)

    def _start(self) -> None:
        while self._waiting and self._busy < self.at_once:
            together = len(self._waiting) if self.at_once == 1 else 1
            batch = [self._waiting.popleft() for _ in range(together)]
            began = self.clock()
            self._began |= dict.fromkeys((key for key, _ in batch), began)
            self._busy += 1
            # A thread of its own, and none that the end of the program waits for: whoever answers
            # has a deadline of their own, and the rollout may not care for the answer any more.
            threading.Thread(target=self._work, args=(batch, began), daemon=True).start()

    def _work(self, batch: Sequence[tuple[str, Asked]], began: float) -> None:
        try:
            told: Sequence[Answer] | BaseException = self.answer([asked for _, asked in batch])
        except BaseException as error:
            told = error
        self._done.put(_Done([key for key, _ in batch], told, self.clock() - began))
        self.ring()
