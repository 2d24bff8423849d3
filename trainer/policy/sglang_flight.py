"""Turns under way at SGLang servers, from the request until each has an outcome.

A turn whose server is gone goes to another, but no turn may take down one server after the other.
One thread calls all of this; what waits for servers is `trainer.policy.sglang_wire`. How servers
are found, or given weights, is not known here.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from trainer.policy.sampler import Completion, Finish, SampleRequest, SamplerFault
from trainer.policy.sglang_client import ServerGone
from trainer.policy.sglang_turns import Sent, Wanted, Written, failed
from trainer.policy.sglang_wire import Ring, Wire
from trainer.policy.turns import WritingTurn, open_turns

MOST_SERVERS = 4
"""Servers that may be lost over one turn; then the turn is thought to be the reason."""


@dataclass
class _Flight:
    """One turn until it has an outcome."""

    turn: WritingTurn
    wanted: Wanted
    ring: Ring
    rid: str = ""
    aborted: bool = False
    losses_before: int = 0
    """How often its server had been lost when it was sent there."""
    servers_lost: int = 0


@dataclass
class TurnsUnderWay:
    """All turns of one sampler that have no outcome yet; one thread calls its methods."""

    address: Callable[[WritingTurn], Sent]
    """Returns the server for a turn; may take its time to bring one back. Raises `SamplerFault` or
    `ServerGone` where none is left."""
    lose: Callable[[str, str], None]
    """Told the address of a server that is gone, and why it is thought so."""
    max_tokens: int
    """Longest dialogue in tokens; one without room for another token is asked of no server."""
    wrote: Callable[[], None] = lambda: None
    """Told that servers write turns."""
    _wire: Wire = field(default_factory=Wire, repr=False)
    _flights: dict[str, _Flight] = field(default_factory=dict, repr=False)
    _losses: Counter[str] = field(default_factory=Counter, repr=False)
    _told: list[tuple[str, Completion]] = field(default_factory=list, repr=False)

    def begin(self, requests: Sequence[SampleRequest], wanted: Wanted, ring: Ring) -> None:
        """Send turns to their servers and come back at once.

        A dialogue that is full comes back as all others do, with an empty turn that says `LENGTH`.

        Raises:
            ValueError: if a dialogue has a turn under way.
        """
        for request in requests:
            if request.dialogue in self._flights:
                raise ValueError(
                    f"dialogue {request.dialogue!r} has a turn under way; wait for it, or abort it"
                )
        turns = open_turns(requests, max_tokens=self.max_tokens)
        asked = {turn.place for turn in turns}
        for place, request in enumerate(requests):
            if place not in asked:
                full = Completion((), (), Finish.LENGTH, wanted.policy_version)
                self._told.append((request.dialogue, full))
                ring()
        self._send([_Flight(turn, wanted, ring) for turn in turns])

    def finished(self) -> list[tuple[str, Completion]]:
        """Return the turns that have an outcome by now; others may be sent once more."""
        again: list[_Flight] = []
        for sent, outcome, is_well in self._wire.landed():
            if isinstance(outcome, BaseException) and not isinstance(outcome, ServerGone):
                raise outcome
            dialogue = sent.turn.request.dialogue
            flight = self._flights.get(dialogue)
            if flight is None or flight.rid != sent.rid:
                continue  # its dialogue was released
            del self._flights[dialogue]
            if isinstance(outcome, ServerGone):
                self._note_loss(flight, sent.url, str(outcome))
            elif not is_well:
                why = f"{sent.url} failed a turn and is not healthy any more"
                self._note_loss(flight, sent.url, why)
            if isinstance(outcome, Written):
                self._told.append((dialogue, outcome.completion))
            elif self._may_try_again(flight, str(outcome)):
                again.append(flight)
        if any(completion.finish is not Finish.FAILED for _, completion in self._told):
            self.wrote()
        self._send(again)
        told, self._told = self._told, []
        return told

    def write(self, requests: Sequence[SampleRequest], wanted: Wanted) -> list[Completion]:
        """Return one turn for each request, in order, once all have an outcome."""
        bell = threading.Event()
        self.begin(requests, wanted, bell.set)
        written: dict[str, Completion] = {}
        while len(written) < len(requests):
            bell.wait()
            bell.clear()
            written |= self.finished()
        return [written[request.dialogue] for request in requests]

    def abort(self, dialogues: Iterable[str]) -> None:
        """Have servers stop writing these turns; they come back as failed, or whole by chance."""
        for dialogue in dialogues:
            flight = self._flights.get(dialogue)
            if flight is not None:
                flight.aborted = True
                self._wire.abort(flight.rid)

    def forget(self, dialogues: Iterable[str]) -> None:
        """Abort these turns and never tell what came of them."""
        names = set(dialogues)
        self.abort(names)
        for dialogue in names:
            self._flights.pop(dialogue, None)
        self._told = [one for one in self._told if one[0] not in names]

    def close(self) -> None:
        """Abort all turns and end the thread that carries them."""
        self._wire.close()
        self._flights.clear()

    def _note_loss(self, flight: _Flight, url: str, why: str) -> None:
        # Of a server that is back by now, a late word about its end before is no news.
        if flight.losses_before == self._losses[url]:
            self._losses[url] += 1
            self.lose(url, why)

    def _may_try_again(self, flight: _Flight, why: str) -> bool:
        """Fail a turn that nobody waits for, or that takes down every server it meets."""
        flight.servers_lost += 1
        if not flight.aborted and flight.servers_lost < MOST_SERVERS:
            return True
        if not flight.aborted:
            why = f"{flight.servers_lost} servers were lost over this turn, the last: {why}"
        self._fail(flight, why)
        return False

    def _send(self, flights: Sequence[_Flight]) -> None:
        try:
            sent = [self.address(flight.turn) for flight in flights]
        except (SamplerFault, ServerGone) as error:
            for flight in flights:
                self._fail(flight, str(error))
            return
        for flight, one in zip(flights, sent, strict=True):
            self._flights[flight.turn.request.dialogue] = flight
            flight.rid, flight.losses_before = one.rid, self._losses[one.url]
            self._wire.send(one, flight.wanted, flight.ring)

    def _fail(self, flight: _Flight, why: str) -> None:
        completion = failed(why, flight.wanted).completion
        self._told.append((flight.turn.request.dialogue, completion))
        flight.ring()
