"""A turn being written, and when a batch of them should close its ranks."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from trainer.policy.sampler import Completion, Finish, SampleRequest


@dataclass
class WritingTurn:
    """A turn that is being written."""

    request: SampleRequest
    place: int
    """Index of the request in its batch."""
    limit: int
    """Tokens it may write, at least 1."""
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: Finish | None = None

    @property
    def length(self) -> int:
        """Tokens of the dialogue, what was written included."""
        return len(self.request.ids) + len(self.ids)

    def take(self, token: int, logprob: float, *, stop_ids: Collection[int]) -> None:
        """Append one sampled token and see whether the turn is over.

        Raises:
            FloatingPointError: if the log-probability is not finite.
        """
        if not math.isfinite(logprob):
            raise FloatingPointError(
                f"token {len(self.ids)} of dialogue {self.request.dialogue!r} has log-probability "
                f"{logprob}: the weights have diverged. Go back to a checkpoint from before"
            )
        self.ids.append(token)
        self.logprobs.append(logprob)
        if token in stop_ids:
            self.finish = Finish.STOP
        elif len(self.ids) == self.limit:
            self.finish = Finish.LENGTH

    def completion(self, policy_version: int) -> Completion:
        """Return the finished turn.

        Raises:
            ValueError: if it is not finished.
        """
        if self.finish is None:
            raise ValueError(f"the turn of dialogue {self.request.dialogue!r} is still written")
        return Completion(tuple(self.ids), tuple(self.logprobs), self.finish, policy_version)


def check_requests(requests: Sequence[SampleRequest], temperature: float) -> None:
    """Make sure that a batch can be written.

    Raises:
        ValueError: if the temperature is out of bounds, a dialogue is there twice, or one has no
            token or asks for none.
    """
    if not temperature > 0 or not math.isfinite(temperature):
        raise ValueError(
            f"temperature {temperature} must be a finite number above 0; for the likeliest "
            "tokens pass greedy=True"
        )
    keys = [request.dialogue for request in requests]
    if len(set(keys)) != len(keys):
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"each dialogue asks for one turn at a time; {twice} asked for more")
    for request in requests:
        if not request.ids or request.max_new_tokens < 1:
            raise ValueError(
                f"dialogue {request.dialogue!r} has {len(request.ids)} tokens and asks for "
                f"{request.max_new_tokens} more; both must be at least 1"
            )


def open_turns(requests: Sequence[SampleRequest], *, max_tokens: int) -> list[WritingTurn]:
    """Return a turn for every request whose dialogue has room for a token."""
    room = [min(r.max_new_tokens, max_tokens - len(r.ids)) for r in requests]
    return [
        WritingTurn(request, place, limit)
        for place, (request, limit) in enumerate(zip(requests, room, strict=True))
        if limit > 0
    ]


def longest(turns: Sequence[WritingTurn]) -> int:
    """Return the length in tokens of the longest dialogue."""
    return max(turn.length for turn in turns)


def worth_leaving(going: int, width: int) -> bool:
    """True when so many turns have ended that closing the ranks costs less than carrying them.

    Moving a row costs about as much as two steps of it, and a call of its own.
    """
    return width - going >= max(1, width // 8)
