"""Replies of users that are under way: at once from rules, in threads from a model.

Users of one voice share a line, whatever their revision, since one model speaks for all of them.
What is said is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainer.episode import Voice
from trainer.rollout.line import Line, Told
from trainer.users.seam import SlowUser, UserEngine, UserFailure, UserReply, UserRequest

_Asked = tuple[UserEngine, UserRequest]
_Reply = UserReply | UserFailure


class UserReplies:
    """What users were asked in a rollout and have not answered yet."""

    def __init__(self, clock: Callable[[], float], ring: Callable[[], None]) -> None:
        """Begin with nobody asked.

        Args:
            clock: Monotonic seconds.
            ring: Called, from any thread, whenever a reply is there.
        """
        self._clock = clock
        self._ring = ring
        self._lines: dict[Voice, Line[_Asked, _Reply]] = {}
        self._at_once: dict[int, int | None] = {}
        """By identity, how much an engine bears at once; None for one that answers on the spot."""
        self._there: list[Told[_Reply]] = []

    def ask(self, key: str, engine: UserEngine, request: UserRequest) -> None:
        """Ask a user for a dialogue's reply."""
        if id(engine) not in self._at_once:
            self._at_once[id(engine)] = engine.at_once if isinstance(engine, SlowUser) else None
        if (at_once := self._at_once[id(engine)]) is None:
            began = self._clock()
            (reply,) = engine.reply([request])
            self._there.append(Told(key, reply, self._clock() - began))
            self._ring()
            return
        line = self._lines.get(engine.voice)
        if line is None:
            line = Line[_Asked, _Reply](_reply, at_once, self._clock, self._ring)
            self._lines[engine.voice] = line
        line.put(key, (engine, request))

    def began_s(self, key: str) -> float | None:
        """Return when a user began to answer; None while the dialogue waits in line."""
        found = (line.began_s(key) for line in self._lines.values())
        return next((began for began in found if began is not None), None)

    def finished(self) -> list[Told[_Reply]]:
        """Return the replies that have come since this was last asked."""
        there, self._there = self._there, []
        return there + [one for line in self._lines.values() for one in line.finished()]

    def drop(self, key: str) -> None:
        """Let a dialogue go; a reply that is under way may still come."""
        for line in self._lines.values():
            line.drop(key)


def _reply(asked: Sequence[_Asked]) -> list[_Reply]:
    """Let each engine answer its part together; return all replies in order."""
    replies: dict[int, _Reply] = {}
    for engine in dict.fromkeys(id(engine) for engine, _ in asked):
        places = [place for place, (one, _) in enumerate(asked) if id(one) == engine]
        told = asked[places[0]][0].reply([asked[place][1] for place in places])
        replies |= dict(zip(places, told, strict=True))
    return [replies[place] for place in range(len(asked))]
