"""A chat model that says what it is told, for every test of a user behind a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from trainer.users.chat import Chat, ChatFailure


@dataclass
class ScriptedModel:
    """Answers each conversation by a function of it and its seed, and keeps what it was asked."""

    say: Callable[[Chat, int], str | ChatFailure]
    calls: list[tuple[float, int]] = field(default_factory=list)
    """Temperature and number of conversations of each call."""
    seeds: list[int] = field(default_factory=list)

    def complete(
        self, chats: Sequence[Chat], *, temperature: float, max_tokens: int, seeds: Sequence[int]
    ) -> list[str | ChatFailure]:
        """Return what the script says to each conversation."""
        self.calls.append((temperature, len(chats)))
        self.seeds += seeds
        return [self.say(chat, seed) for chat, seed in zip(chats, seeds, strict=True)]
