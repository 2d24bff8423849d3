"""Engines that play dialogues: an event at a time, on a clock of its own.

Each engine holds so many dialogues at once. A turn decodes at a speed that falls with the number
of dialogues that decode beside it, taken when the turn begins; then the dialogue waits for its
answer and decodes nothing. Who gets which dialogue is decided by the caller.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from trainer.scheduling.workload import Script


@dataclass(frozen=True)
class Fleet:
    """Engines alike."""

    nodes: int = 64
    slots: int = 64
    """Dialogues in flight on each."""
    token_s: float = 0.012
    """Seconds for a token of a dialogue that decodes alone."""
    half: int = 64
    """Dialogues that decode at once when a token takes twice as long."""
    turn_deadline_s: float | None = None
    """An answer that takes longer costs its dialogue."""
    episode_deadline_s: float | None = None
    """So does a dialogue that takes longer."""

    @property
    def places(self) -> int:
        """Dialogues in flight on all engines."""
        return self.nodes * self.slots


class Played(NamedTuple):
    """One dialogue that was played."""

    started_s: float
    ended_s: float
    turns: int
    whole: bool
    """False where a deadline cut it."""


class Session(NamedTuple):
    """What a fleet played."""

    ended: tuple[Played, ...]
    """In order of their ends."""
    left: tuple[float, ...]
    """When each dialogue began that was still under way at the last of them."""

    @property
    def end_s(self) -> float:
        """When the last dialogue ended that was waited for."""
        return self.ended[-1].ended_s

    @property
    def seated_s(self) -> float:
        """Seconds in places, of all dialogues together, up to `end_s`."""
        whole = sum(one.ended_s - one.started_s for one in self.ended)
        return whole + sum(self.end_s - began for began in self.left)


Source = Callable[[int, float], Script | None]
"""Returns the next dialogue of a node at a time, None where there is none for it."""


@dataclass
class _Dialogue:
    script: Script
    started_s: float
    turn: int = 0


@dataclass
class _Engine:
    decoding: int = 0
    seated: dict[int, _Dialogue] = field(default_factory=dict)


def play(fleet: Fleet, source: Source, *, enough: int) -> Session:
    """Play dialogues until enough have ended whole, or there are no more.

    Args:
        fleet: The engines.
        source: Where dialogues come from.
        enough: Dialogues to wait for; what is under way then is let go.
    """
    engines = [_Engine() for _ in range(fleet.nodes)]
    events: list[tuple[float, int, int, bool]] = []
    ended: list[Played] = []
    count, whole = 0, 0

    def seat(node: int, now: float) -> None:
        nonlocal count
        script = source(node, now)
        if script is None:
            return
        engines[node].seated[count] = _Dialogue(script, now)
        decode(node, count, now)
        count += 1

    def decode(node: int, number: int, now: float) -> None:
        engine = engines[node]
        dialogue = engine.seated[number]
        engine.decoding += 1
        each = fleet.token_s * (1 + (engine.decoding - 1) / fleet.half)
        took = dialogue.script.tokens[dialogue.turn] * each
        heapq.heappush(events, (now + took, number, node, True))

    for node in range(fleet.nodes):
        for _ in range(fleet.slots):
            seat(node, 0.0)
    while events and whole < enough:
        now, number, node, decoded = heapq.heappop(events)
        engine = engines[node]
        dialogue = engine.seated[number]
        if decoded:
            engine.decoding -= 1
            wait, cut = _answer(fleet, dialogue, now)
            dialogue.turn = -1 if cut else dialogue.turn + 1
            heapq.heappush(events, (now + wait, number, node, False))
        elif 0 <= dialogue.turn < len(dialogue.script.tokens):
            decode(node, number, now)
        else:
            kept = dialogue.turn >= 0
            turns = len(dialogue.script.tokens)
            ended.append(Played(dialogue.started_s, now, turns, kept))
            whole += kept
            del engine.seated[number]
            seat(node, now)
    left = (one.started_s for engine in engines for one in engine.seated.values())
    return Session(tuple(ended), tuple(left))


def _answer(fleet: Fleet, dialogue: _Dialogue, now: float) -> tuple[float, bool]:
    """Return how long a turn's answer is waited for, and whether a deadline cuts the dialogue."""
    wait = dialogue.script.waits_s[dialogue.turn]
    limits = [limit for limit in (fleet.turn_deadline_s,) if limit is not None]
    if fleet.episode_deadline_s is not None:
        limits.append(max(dialogue.started_s + fleet.episode_deadline_s - now, 0.0))
    limit = min(limits, default=wait)
    return (limit, True) if wait > limit else (wait, False)
