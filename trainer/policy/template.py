"""Chat templates, taken apart once: what a template writes around the messages, never in them.

A template is rendered with placeholders where the texts go, and the result is cut into token ids
and literal text. So a text never meets the template language, nothing it contains can become a
special token, and rendering costs nothing once a sequence of roles has been seen. This module
knows roles and pieces; what is said, and when, is `trainer.policy.chat`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

_PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")
_ADVICE = (
    "Give the tokenizer a template that writes every message the same way wherever it stands: "
    "put one in `chat_template.jinja` beside the tokenizer"
)


@dataclass(frozen=True)
class Slot:
    """The place of one message's text."""

    index: int


Piece = int | str | Slot
"""A token that the template writes, literal text, or the place of a message's text."""


class Template:
    """A tokenizer's chat template as pieces.

    Args:
        tokenizer: A fast tokenizer with a chat template.
        thinking: Whether the next assistant turn may open with reasoning. Templates that know
            `enable_thinking` close it beforehand when this is False.

    Raises:
        ValueError: if the tokenizer has no chat template.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, thinking: bool) -> None:
        if not tokenizer.chat_template:
            raise ValueError(
                "the tokenizer has no chat template, so it cannot be talked to. Use the instruct "
                "version of the model, or put a `chat_template.jinja` beside the tokenizer"
            )
        self._tokenizer = tokenizer
        self._thinking = thinking
        added = {str(token): index for index, token in tokenizer.added_tokens_decoder.items()}
        self._added = added
        self._cut = alternation(added)

    def opening(self, roles: Sequence[str]) -> tuple[Piece, ...]:
        """Return everything up to the first word of the assistant.

        Args:
            roles: The roles of the first messages, such as `("system", "user")`.

        Raises:
            ValueError: if the template refuses these roles, or loses or reorders a message.
        """
        return self._pieces(self._render(roles), first=0, count=len(roles))

    def continuation(self, roles: Sequence[str]) -> tuple[Piece, ...]:
        """Return everything after the last word of an assistant turn up to the next one's first.

        It is found by rendering the new messages behind a short dialogue and behind a longer
        one. The two must agree: only then does it hold wherever in a dialogue it is appended.

        Args:
            roles: The roles of the messages that answer the assistant.

        Raises:
            ValueError: if the template writes something else in a longer dialogue, refuses these
                roles, or loses or reorders a message.
        """
        bases = (
            ("system", "user", "assistant"),
            ("system", "user", "assistant", "user", "assistant"),
        )
        found = []
        for base in bases:
            text = self._render((*base, *roles))
            mark = _mark(len(base) - 1)
            if text.count(mark) != 1:
                raise ValueError(
                    f"the chat template writes the text of an assistant turn {text.count(mark)} "
                    f"times when {', '.join(roles)} follows; it must be once. {_ADVICE}"
                )
            found.append(self._pieces(text.split(mark)[1], first=len(base), count=len(roles)))
        if found[0] != found[1]:
            raise ValueError(
                "the chat template is not prefix-preserving: behind an assistant turn it writes "
                f"{found[0]!r} in a short dialogue and {found[1]!r} in a longer one, so a dialogue "
                f"could not grow by appending. {_ADVICE}"
            )
        return found[0]

    def _render(self, roles: Sequence[str]) -> str:
        messages = [{"role": role, "content": _mark(i)} for i, role in enumerate(roles)]
        try:
            text = self._tokenizer.apply_chat_template(
                messages,
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=self._thinking,
            )
        except TemplateError as error:
            raise ValueError(
                f"the chat template refuses the roles {', '.join(roles)}: {error}. {_ADVICE}"
            ) from error
        assert isinstance(text, str)
        return text

    def _pieces(self, text: str, *, first: int, count: int) -> tuple[Piece, ...]:
        """Cut rendered text, numbering its slots from 0 (they were rendered from `first` on)."""
        pieces: list[Piece] = []
        slots: list[int] = []
        # `split` puts the captured index of a placeholder at every odd place.
        for position, part in enumerate(_PLACEHOLDER.split(text)):
            if position % 2:
                slots.append(int(part) - first)
                pieces.append(Slot(slots[-1]))
                continue
            pieces += [self._added.get(literal, literal) for literal in self._cut.split(part)]
        if slots != list(range(count)):
            raise ValueError(
                f"the chat template writes messages {slots} where {list(range(count))} were given "
                f"(counted from 0), so it drops, repeats or reorders them. {_ADVICE}"
            )
        return tuple(piece for piece in pieces if piece != "")


def alternation(words: Sequence[str] | dict[str, int]) -> re.Pattern[str]:
    """Return a pattern that splits a text at any of these words and keeps them, longest first."""
    longest_first = sorted(words, key=len, reverse=True)
    # An empty set must split nowhere: `(?!)` never matches.
    return re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")


def _mark(index: int) -> str:
    # Private-use characters: no template compares, strips or splits on them.
    return f"\ue000{index}\ue001"
