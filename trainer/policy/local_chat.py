"""A chat model in this process, for whoever needs one beside the policy: an LLM user, a judge.

It continues conversations that are given as messages, by the same sampler as the policy. What it
has read of a conversation is kept between calls, so a growing conversation costs its new words.
It knows nothing about who asks, or why.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import torch

from trainer.episode import Speaker
from trainer.policy.build import Policy
from trainer.policy.local import LocalSampler
from trainer.policy.sampler import SampleRequest

Failure = TypeVar("Failure")

Message = tuple[str, str]
"""Role (`system`, `user` or `assistant`) and text."""


class LocalChatModel(Generic[Failure]):
    """Continues conversations with a local model.

    Args:
        policy: The model, its tokenizer and chat format. Its weights must not change.
        failure: Makes the caller's own value for a conversation that cannot be continued, from a
            sentence that says why.
        max_tokens: Longest conversation in tokens, continuation included.
        max_chats: Conversations remembered and continued at once.
        dtype: Type to compute in; the model's own unless given.
    """

    def __init__(
        self,
        policy: Policy,
        failure: Callable[[str], Failure],
        *,
        max_tokens: int,
        max_chats: int = 64,
        dtype: torch.dtype | None = None,
    ) -> None:
        self._chat = policy.chat
        self._name = policy.name
        self._failure = failure
        self._max_tokens = max_tokens
        self._lock = threading.Lock()
        self._sampler = LocalSampler(
            policy.model,
            policy.chat.stop_ids,
            max_dialogues=max_chats,
            max_tokens=max_tokens,
            dtype=dtype,
        )

    def complete(
        self,
        chats: Sequence[Sequence[Message]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[str | Failure]:
        """Return the assistant's next message of each conversation, in order.

        Args:
            chats: A system message, then user and assistant in turn, a user message last.
            temperature: Sampling temperature; 0 is greedy.
            max_tokens: The longest continuation, in tokens.
            seeds: One number below 2**63 per conversation.

        Raises:
            ValueError: if a conversation has another shape.
        """
        tokens = [self._tokens(chat) for chat in chats]
        fits = [index for index, ids in enumerate(tokens) if len(ids) < self._max_tokens]
        keys = _keys(chats)
        # A sampler divides by its temperature; greedy, any will do.
        with self._lock:
            completions = self._sampler.sample(
                [SampleRequest(keys[i], tokens[i], max_tokens, seeds[i]) for i in fits],
                temperature=temperature or 1.0,
                greedy=temperature == 0,
            )
        written = dict(zip(fits, completions, strict=True))
        return [
            self._chat.decode(written[index].ids)
            if index in written
            else self._failure(
                f"the conversation has {len(ids)} tokens and {self._name} reads "
                f"{self._max_tokens}; shorten the dialogue or raise max_tokens"
            )
            for index, ids in enumerate(tokens)
        ]

    def _tokens(self, chat: Sequence[Message]) -> list[int]:
        roles = [role for role, _ in chat]
        turns = ["user", "assistant"] * len(chat)
        if len(chat) < 2 or len(chat) % 2 or roles != ["system", *turns[: len(chat) - 1]]:
            raise ValueError(
                "a conversation is a system message, then user and assistant in turn, a user "
                f"message last; got {roles}"
            )
        ids = self._chat.open(chat[0][1], chat[1][1])
        for (_, said), (_, answer) in zip(chat[2::2], chat[3::2], strict=True):
            ids += self._chat.write(said)
            ids += self._chat.extend([(Speaker.USER, answer)], ended=True)
        return ids


def _keys(chats: Sequence[Sequence[Message]]) -> list[str]:
    """Name conversations by how they open, so that what was read is found again.

    Two that open alike are told apart by their order. A mix-up costs reading, never a result:
    the sampler compares every token with what it has read.
    """
    met: Counter[str] = Counter()
    keys: list[str] = []
    for chat in chats:
        opening = "\x00".join(text for _, text in chat[:2])
        digest = hashlib.blake2b(opening.encode("utf-8", "replace"), digest_size=12).hexdigest()
        keys.append(f"{digest}-{met[digest]}")
        met[digest] += 1
    return keys
