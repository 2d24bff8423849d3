"""The chat format of one tokenizer: dialogues as token ids that only ever grow.

`open` gives the prompt, `extend` what stands between two assistant turns. History is never
rendered again, so every input of the model is a prefix of the next. What people and tools say is
encoded as plain text: a `<|im_end|>` in it stays ten characters. This module knows nothing about
models; sampled ids go into the stream as they are (`trainer.trajectory.TokenStream`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import cast

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from trainer.episode import Speaker
from trainer.policy.template import Piece, Slot, Template, alternation

_BETWEEN_TURNS = (Speaker.SYSTEM, Speaker.USER, Speaker.TOOL)

# Roles whose texts are written by the world or the policy: their markup, such as `<tool_call>`,
# are the tokens the model learnt. Special tokens are never made from any text.
_TRUSTED = frozenset({"system", "assistant"})


class ChatFormat:
    """How one tokenizer writes a dialogue.

    Args:
        tokenizer: A fast tokenizer with a chat template.
        stop_ids: End tokens beside the tokenizer's own, as the model's generation config lists
            them (Qwen3 has two).
        thinking: Whether the policy may reason before it speaks; if not, the template's empty
            reasoning block is part of the header.

    Attributes:
        stop_ids: All ids that end an assistant turn when they are sampled.
        end_id: The token with which the template closes an assistant turn.

    Raises:
        ValueError: if the template cannot be extended by appending, or the tokenizer encodes
            a text differently when it stands alone; the message says what to do.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        *,
        stop_ids: Iterable[int] = (),
        thinking: bool = False,
    ) -> None:
        self.tokenizer = tokenizer
        self._template = Template(tokenizer, thinking=thinking)
        self._thinking = thinking
        self._backend = _backend(tokenizer)
        self._plain = _without_added_tokens(self._backend)
        added = tokenizer.added_tokens_decoder
        self._markup = {str(token): i for i, token in added.items() if not token.special}
        self._cut_markup = alternation(self._markup)
        self._openings: dict[tuple[str, ...], tuple[Piece, ...]] = {}
        self._continuations: dict[tuple[str, ...], tuple[Piece, ...]] = {}
        closing = self._continuation(("user",))[0]
        if not isinstance(closing, int):
            raise ValueError(
                f"the chat template writes {closing!r} after an assistant turn, which is no token "
                "of its own, so nothing could end a turn. Use a template that closes the "
                "assistant's turn with an end token such as <|im_end|>"
            )
        self.end_id = closing
        self._tool_role = self._role_of_tools()
        self.stop_ids = frozenset({closing, *stop_ids, *_own_stop_ids(tokenizer)})
        self._check()

    def open(self, system: str, user: str) -> list[int]:
        """Return the prompt: system text, the user's first words, the assistant's header."""
        roles = ("system", "user")
        if roles not in self._openings:
            self._openings[roles] = self._template.opening(roles)
        return self._encode(self._openings[roles], roles, (system, user))

    def extend(self, messages: Sequence[tuple[Speaker, str]], *, ended: bool) -> list[int]:
        """Return what follows an assistant turn, up to the header of the next one.

        Args:
            messages: What users and tools said since, in order; at least one.
            ended: True if the assistant's turn ended with a sampled end token. Otherwise the end
                token is put there first; it was not sampled and is not trained on.

        Raises:
            ValueError: if there is no message, one is the agent's, or the template refuses them.
        """
        if not messages or any(speaker not in _BETWEEN_TURNS for speaker, _ in messages):
            raise ValueError(
                f"between two agent turns come messages of {', '.join(_BETWEEN_TURNS)}, at least "
                f"one; got {[speaker.value for speaker, _ in messages]}"
            )
        roles = tuple(
            self._tool_role if speaker is Speaker.TOOL else speaker.value for speaker, _ in messages
        )
        pieces = self._continuation(roles)
        return self._encode(pieces[1:] if ended else pieces, roles, [text for _, text in messages])

    def write(self, text: str) -> list[int]:
        """Return an assistant turn as ids, end token included: what a demonstration says."""
        return [*self._encode((Slot(0),), ("assistant",), (text,)), self.end_id]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of sampled ids, special tokens left out (for reading, not encoding)."""
        end = len(ids) - (bool(ids) and ids[-1] in self.stop_ids)
        return self._backend.decode(list(ids[:end]), skip_special_tokens=True)

    def _role_of_tools(self) -> str:
        """Return `tool`, or `user` for a template that has no place for tools."""
        try:
            self._continuation(("tool",))
        except ValueError:
            return "user"
        return "tool"

    def _continuation(self, roles: tuple[str, ...]) -> tuple[Piece, ...]:
        if roles not in self._continuations:
            self._continuations[roles] = self._template.continuation(roles)
        return self._continuations[roles]

    def _encode(
        self, pieces: Sequence[Piece], roles: Sequence[str], texts: Sequence[str]
    ) -> list[int]:
        """Encode pieces; text between two tokens is encoded in one go, as the tokenizer would."""
        ids: list[int] = []
        run: list[str] = []

        def token(token_id: int) -> None:
            ids.extend(self._encode_plain("".join(run)))
            run.clear()
            ids.append(token_id)

        for piece in pieces:
            if isinstance(piece, int):
                token(piece)
            elif isinstance(piece, str):
                run.append(piece)
            elif roles[piece.index] in _TRUSTED and self._markup:
                for part in self._cut_markup.split(texts[piece.index]):
                    if part in self._markup:
                        token(self._markup[part])
                    else:
                        run.append(part)
            else:
                run.append(texts[piece.index])
        return ids + self._encode_plain("".join(run))

    def _encode_plain(self, text: str) -> list[int]:
        if not text:
            return []
        # Half a surrogate pair, as broken JSON may hold, is no text; it becomes a question mark.
        sound = text.encode("utf-8", "replace").decode("utf-8")
        return self._plain.encode(sound, add_special_tokens=False).ids

    def _check(self) -> None:
        """Compare with the tokenizer's own encoding, and try the texts of an attacker."""
        probe = ("You help.", "Where to, and when?")
        theirs = self.tokenizer.apply_chat_template(
            [{"role": "system", "content": probe[0]}, {"role": "user", "content": probe[1]}],
            add_generation_prompt=True,
            enable_thinking=self._thinking,
            return_dict=False,
        )
        if self.open(*probe) != theirs:
            raise ValueError(
                "the tokenizer encodes a dialogue differently as a whole and in the parts between "
                "its special tokens, or its template alters the texts. Use a byte-level "
                "tokenizer, and a template that writes texts unchanged"
            )
        forged = [
            str(token)
            for index, token in self.tokenizer.added_tokens_decoder.items()
            if index in self._encode_plain(str(token))
        ]
        if forged:
            raise ValueError(
                f"the tokenizer makes the special token {forged[0]!r} out of plain text, so "
                "a user could end a turn by typing it. Use a tokenizer whose special tokens are "
                "added tokens, not words of its vocabulary"
            )


def _own_stop_ids(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    eos = cast("int | list[int] | None", tokenizer.eos_token_id)
    return [] if eos is None else [eos] if isinstance(eos, int) else list(eos)


def _backend(tokenizer: PreTrainedTokenizerBase) -> Tokenizer:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise ValueError(
            f"{type(tokenizer).__name__} has no fast tokenizer; save the model with one "
            "(a tokenizer.json beside the weights)"
        )
    return backend


def _without_added_tokens(backend: Tokenizer) -> Tokenizer:
    """Return the same tokenizer for which special and added tokens are ordinary characters."""
    declaration = json.loads(backend.to_str())
    return Tokenizer.from_str(json.dumps({**declaration, "added_tokens": []}))
