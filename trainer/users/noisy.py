"""The noisy user: symbolic replies through a channel with stated fault rates.

It stands in for a model's faults where no model is at hand, and says so: its voice is `noisy`
and every reply's private record lists the faults it suffered, if any. A fault breaks what the
rules promise (a leak tells a fact nobody asked for) but never the length limit. The same seed
suffers the same faults; how an episode fares under them is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from trainer import seeds
from trainer.episode import Voice
from trainer.task import Fact
from trainer.users.disclosure import Standing, standing
from trainer.users.seam import UserEngine, UserFailure, UserReply, UserRequest
from trainer.users.settings import UserSettings, read_settings
from trainer.users.strategy import Strategy


class Fault(StrEnum):
    """What the channel does to a reply, at most one each."""

    EARLY_STOP = "early_stop"
    """The user ends the conversation instead of answering."""
    DRIFT = "drift"
    """The user talks about something else instead of answering."""
    FORGETTING = "forgetting"
    """The user does not remember what it was about to tell."""
    LEAK = "leak"
    """The user adds a fact that nobody asked for."""


@dataclass(frozen=True)
class NoiseRates:
    """Probability of each fault, among the replies in which it can happen.

    A drift or an early stop can hit any reply that does not end the conversation; a forgetting
    needs a reply that tells facts, a leak needs a further fact that may be told and fits.

    Raises:
        ValueError: if a rate is outside [0, 1] or all together exceed 1.
    """

    drift: float = 0.0
    leak: float = 0.0
    forgetting: float = 0.0
    early_stop: float = 0.0

    def __post_init__(self) -> None:
        rates = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name, rate in rates.items():
            if not 0.0 <= rate <= 1.0:
                raise ValueError(f"noise rate {name}: {rate} is outside [0, 1]; choose a share")
        if sum(rates.values()) > 1.0 + 1e-9:
            raise ValueError(
                f"noise rates {rates} exceed 1 together, but a reply suffers one fault at most; "
                f"lower them"
            )


_WORDS: Mapping[Fault, tuple[str, ...]] = {
    Fault.EARLY_STOP: ("That is all, thank you.", "I have to go now. Bye."),
    Fault.DRIFT: ("The weather is nice today.", "I had a long day.", "My cat is asleep."),
    Fault.FORGETTING: ("Sorry, I forgot.", "I do not remember now."),
}
_STRATEGIES: Mapping[Fault, Strategy] = {
    Fault.EARLY_STOP: Strategy.CLOSE,
    Fault.DRIFT: Strategy.INVALID,
    Fault.FORGETTING: Strategy.BE_VAGUE,
    Fault.LEAK: Strategy.REVEAL_PIECE,
}
_SHORTEST = "-"


@dataclass(frozen=True)
class NoisyUser:
    """Another user's replies with seeded faults."""

    symbolic: UserEngine
    """Whoever answers before the channel; its failures pass through."""
    rates: NoiseRates

    @property
    def voice(self) -> Voice:
        """Always `noisy`, also for replies without a fault."""
        return Voice.NOISY

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Answer a batch of messages, each reply through the channel."""
        clean = self.symbolic.reply(requests)
        return [
            reply if isinstance(reply, UserFailure) else self._transmit(request, reply)
            for request, reply in zip(requests, clean, strict=True)
        ]

    def _transmit(self, request: UserRequest, reply: UserReply) -> UserReply:
        settings = read_settings(request.settings)
        fault = self._draw(request)
        leaked = _leakable(request, reply, settings) if fault is Fault.LEAK else None
        impossible = (
            reply.ends
            or (fault is Fault.FORGETTING and not reply.revealed)
            or (fault is Fault.LEAK and leaked is None)
        )
        if fault is None or impossible:
            return replace(reply, voice=Voice.NOISY, private={**reply.private, "faults": []})
        private = {**reply.private, "faults": [fault.value], "strategy": _STRATEGIES[fault].value}
        if leaked is not None:
            counts = {**reply.state.reveal_counts, leaked.id: 1}
            return replace(
                reply,
                text=f"{reply.text} {leaked.statement}",
                voice=Voice.NOISY,
                revealed=(*reply.revealed, leaked.id),
                state=replace(reply.state, reveal_counts=counts),
                private=private,
            )
        return replace(
            reply,
            text=_words(fault, request, settings.max_reply_chars),
            voice=Voice.NOISY,
            revealed=(),
            ends=fault is Fault.EARLY_STOP,
            # What was not said was not disclosed.
            state=replace(reply.state, reveal_counts=request.state.reveal_counts),
            private=private,
        )

    def _draw(self, request: UserRequest) -> Fault | None:
        """Draw which fault this reply is to suffer: one uniform cut into the rates."""
        draw = seeds.uniform(request.seed, "noise", request.state.num_replies)
        for fault in Fault:
            draw -= getattr(self.rates, fault.value)
            if draw < 0.0:
                return fault
        return None


def _leakable(request: UserRequest, reply: UserReply, settings: UserSettings) -> Fact | None:
    """Return the fact that a leak would add, None if there is none that fits."""
    room = settings.max_reply_chars - len(reply.text) - 1
    kinds, most = settings.reveal_kinds, settings.max_reveals
    candidates = [
        fact
        for fact in request.task.facts
        if not reply.state.reveal_counts.get(fact.id, 0)
        and len(fact.statement) <= room
        and standing(fact, reply.state, reveal_kinds=kinds, max_reveals=most) is Standing.OPEN
    ]
    if not candidates:
        return None
    choice = seeds.derive(request.seed, "leak", request.state.num_replies)
    return candidates[choice % len(candidates)]


def _words(fault: Fault, request: UserRequest, limit: int) -> str:
    variants = _WORDS[fault]
    first = seeds.derive(request.seed, "noise words", request.state.num_replies) % len(variants)
    ordered = variants[first:] + variants[:first]
    return next((text for text in ordered if len(text) <= limit), _SHORTEST)
