"""Chat models: anything that continues conversations, behind one protocol.

An endpoint and a model in this process look alike from here. What is said and why is not known
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"


class ChatMessage(NamedTuple):
    """One message of a conversation with a model."""

    role: str
    """`system`, `user` or `assistant`; the model speaks as the assistant."""
    content: str


Chat = tuple[ChatMessage, ...]
"""One conversation: a system message, then user and assistant in turn, a user message last."""


@dataclass(frozen=True)
class ChatFailure:
    """A model's word that it has no continuation, after its retries."""

    reason: str
    """What failed and what to look at, in one sentence without secrets and without content."""


class ChatModel(Protocol):
    """Anything that continues conversations."""

    def complete(
        self,
        chats: Sequence[Chat],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[str | ChatFailure]:
        """Return the assistant's next message of each conversation, in order.

        A fault of the model or of the way to it is a `ChatFailure`, never an exception.

        Args:
            chats: The conversations.
            temperature: Sampling temperature; 0 is greedy.
            max_tokens: The longest continuation, in tokens.
            seeds: One number below 2**63 per conversation, for the model's chance.
        """
        ...
