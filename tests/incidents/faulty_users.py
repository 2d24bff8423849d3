"""User engines with one published fault each; real implementations of `UserEngine`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from trainer.episode import Voice
from trainer.users.parse import Act
from trainer.users.rules import RuleSet
from trainer.users.seam import UserEngine, UserFailure, UserReply, UserRequest
from trainer.users.symbolic import SymbolicUser

Spoil = Callable[[UserRequest, UserReply], UserReply]


@dataclass(frozen=True)
class Faulty:
    """The symbolic user with its replies spoilt."""

    inner: UserEngine
    spoil: Spoil

    @property
    def voice(self) -> Voice:
        """As of the user within."""
        return self.inner.voice

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Answer as the user within does, and spoil it."""
        return [
            self.spoil(request, reply) if isinstance(reply, UserReply) else reply
            for request, reply in zip(requests, self.inner.reply(requests), strict=True)
        ]


def faulty(spoil: Spoil) -> Callable[[str, RuleSet], UserEngine]:
    """Return what makes a user with one fault, as the probe takes it."""
    return lambda world, rules: Faulty(SymbolicUser({world: rules}), spoil)


def recites(*kinds: str, length: int) -> Spoil:
    """Return the fault of a user whose replies hold the reference answer, padded to a length.

    Args:
        kinds: Only where a reply tells a fact of one of these kinds.
        length: Characters of such a reply.
    """

    def spoil(request: UserRequest, reply: UserReply) -> UserReply:
        told = {fact.kind for fact in request.task.facts if fact.id in reply.revealed}
        if not told & set(kinds):
            return reply
        text = f"{reply.text} {request.task.payload['reference']}"
        return replace(reply, text=text[:length].ljust(length, "."))

    return spoil


def forgets_repeats(request: UserRequest, reply: UserReply) -> UserReply:
    """Count only the first disclosure of each fact, so that repeats have no bound."""
    counts = {name: min(count, 1) for name, count in reply.state.reveal_counts.items()}
    return replace(reply, state=replace(reply.state, reveal_counts=counts))


def misses_both(request: UserRequest, reply: UserReply) -> UserReply:
    """Leave turns that ask and answer out of the count of questions."""
    if reply.private.get("act") != Act.BOTH:
        return reply
    return replace(reply, state=replace(reply.state, num_questions=request.state.num_questions))
