"""Calls into worlds that are under way, each answered by itself.

Worlds in processes are asked and listened to; trusted ones in this process answer at once. What a
world asks of a judge is answered in a line of its own, and holds back that world alone. What a
call is about is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trainer.question import Answers, Questions
from trainer.rollout.asking import MAX_ROUNDS, asks_on, consult, note, of_its_kind, with_answers
from trainer.rollout.dialogue import Dialogue
from trainer.rollout.line import Line, Told
from trainer.rollout.scene import Performance
from trainer.worlds.calls import Call, Fault, Result
from trainer.worlds.flight import CallsInFlight

JUDGED_AT_ONCE = 16
"""Worlds whose questions a judge may have at once; its endpoint may hold it to fewer."""


@dataclass
class _Errand:
    """One call until it has a result that is none of `Questions`."""

    dialogue: Dialogue
    call: Call
    deadline_s: float
    sent_s: float = 0.0
    seconds: float = 0.0
    """What the world took so far; the judge's time does not count."""
    rounds: int = 0
    questions: Questions | None = None


_Waiting = tuple[Dialogue, Questions]
_Ruling = Answers | Fault


class WorldCalls:
    """What worlds were asked in a rollout and have not answered yet."""

    def __init__(self, performance: Performance, ring: Callable[[], None]) -> None:
        """Begin with nothing asked.

        Args:
            performance: Knows where each dialogue is played, and who judges.
            ring: Called, from any thread, when there is news that no descriptor tells of.
        """
        self._performance = performance
        self._clock = performance.scene.clock
        self._ring = ring
        self._hosts: dict[int, CallsInFlight | None] = {}
        """By identity, the hosts that were asked; None for one that answers at once."""
        self._errands: dict[str, _Errand] = {}
        self._there: dict[str, Result] = {}
        self._judge = Line[_Waiting, _Ruling](self._rule, JUDGED_AT_ONCE, self._clock, ring)

    @property
    def is_idle(self) -> bool:
        """True when no judge is being asked."""
        return self._judge.is_idle

    def send(self, dialogue: Dialogue, call: Call, *, deadline_s: float) -> None:
        """Ask a dialogue's world.

        Args:
            dialogue: It has no call under way.
            call: What is asked.
            deadline_s: Seconds that the answer may take.
        """
        errand = _Errand(dialogue, call, deadline_s)
        self._errands[dialogue.key] = errand
        self._send(errand, call)

    def descriptors(self) -> dict[int, int]:
        """Return what to listen to, with the events of `select.poll`."""
        return {
            descriptor: events
            for host in self._hosts.values()
            if host is not None
            for descriptor, events in host.descriptors().items()
        }

    def arrived(self) -> list[Told[Result]]:
        """Return the results that have come since this was last asked."""
        told: list[Told[Result]] = []
        for key, ruling, _ in self._judge.finished():
            if (errand := self._errands.get(key)) is not None:
                self._bring(errand, ruling)
        there, self._there = self._there, {}
        for host in self._hosts.values():
            if host is not None:
                there |= host.arrived()
        for key, result in there.items():
            errand = self._errands.get(key)
            if errand is not None and (final := self._settle(errand, result)) is not None:
                del self._errands[key]
                told.append(Told(key, final, errand.seconds))
        return told

    def drop(self, dialogue: Dialogue) -> None:
        """End a dialogue's world, whatever it does."""
        self._errands.pop(dialogue.key, None)
        self._judge.drop(dialogue.key)
        self._performance.place(dialogue).worlds.close([dialogue.key])

    def _send(self, errand: _Errand, call: Call) -> None:
        errand.sent_s = self._clock()
        worlds, key = self._performance.place(errand.dialogue).worlds, errand.dialogue.key
        if id(worlds) not in self._hosts:
            self._hosts[id(worlds)] = worlds if isinstance(worlds, CallsInFlight) else None
        if (host := self._hosts[id(worlds)]) is not None:
            host.send({key: call}, deadline_s=errand.deadline_s)
        else:
            self._there |= worlds.call({key: call}, deadline_s=errand.deadline_s)
            self._ring()

    def _settle(self, errand: _Errand, result: Result) -> Result | None:
        """Return what came of a call; None where a judge is asked first."""
        # No call takes longer than it may; what is more is the delay of whoever asks here.
        errand.seconds += min(self._clock() - errand.sent_s, errand.deadline_s)
        if not isinstance(result, Questions):
            return of_its_kind(errand.call, result) if errand.rounds else result
        if errand.rounds == MAX_ROUNDS:
            return asks_on()
        errand.rounds, errand.questions = errand.rounds + 1, result
        self._judge.put(errand.dialogue.key, (errand.dialogue, result))
        return None

    def _bring(self, errand: _Errand, ruling: _Ruling) -> None:
        """Bring a world what the judge said."""
        if isinstance(ruling, Fault):
            self._there[errand.dialogue.key] = ruling
        elif errand.questions is not None:
            note(errand.dialogue, errand.questions, ruling, self._performance.sitting, pinned=False)
            self._send(errand, with_answers(errand.call, errand.dialogue, ruling))

    def _rule(self, waiting: Sequence[_Waiting]) -> list[_Ruling]:
        """Have the judge answer what worlds ask."""
        return consult(waiting, self._performance.sitting)
