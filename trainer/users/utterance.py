"""Utterances: what a model's raw output says aloud, and what in it is private.

Think tags, `[inner thoughts]`, thought and strategy fields and a `Name:` prefix never reach the
agent. What cannot be told apart is dropped rather than shown: an unreadable output has no text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from trainer.users.stopping import STOP, split_marker
from trainer.users.strategy import Strategy, read_strategy

MAX_OUTPUT_CHARS = 16_000
"""Of a longer output the rest is ignored; the patterns here may take quadratic time."""

_PRIVATE_TAGS = "think|thinking|thoughts?|reasoning|inner_thoughts?|analysis|scratchpad"
_PRIVATE = re.compile(rf"<({_PRIVATE_TAGS})>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_OPEN = re.compile(rf"<(?:{_PRIVATE_TAGS})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</(?:{_PRIVATE_TAGS})>", re.IGNORECASE)
_STRATEGY_TAG = re.compile(r"<strategy>(.*?)</strategy>", re.IGNORECASE | re.DOTALL)
_MESSAGE_TAG = re.compile(r"<message>(.*?)(?:</message>|$)", re.IGNORECASE | re.DOTALL)
_FENCE = re.compile(r"^\s*```[a-z]*\s*|\s*```\s*$", re.IGNORECASE)
_KEYED = r'"{}"\s*:\s*"((?:[^"\\]|\\.)*)"'
_MESSAGE_KEYS = ("message", "utterance", "reply", "response")
_QUOTED_KEY = re.compile(r'"[A-Za-z_]{2,20}"\s*:')
_NAME = re.compile(
    r"^\s*\*{0,2}([A-Z][\w.'\u2019-]{0,30}(?: [A-Z][\w.'\u2019-]{0,30}){0,2})\*{0,2}\s*:\*{0,2}\s+"
)
_OTHER_SPEAKER = re.compile(
    r"\n\s*\*{0,2}(?:agent|assistant|user|human|customer|system)\*{0,2}\s*:", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f][\"'\u201d)]*(?=\s|$)")


@dataclass(frozen=True)
class Utterance:
    """One output of a user's model, taken apart."""

    text: str
    """What the agent may read; empty where the output held nothing to say."""
    strategy: Strategy
    thought: str
    """Everything private, joined; for the record alone."""
    marker: str | None = None
    """The stop marker that stood in what was said aloud (see `trainer.users.stopping`)."""


def read_utterance(raw: str, *, known_words: Container[str] = ()) -> Utterance:
    """Take a model's output apart.

    The ladder: strict JSON, the first balanced object, the two keys by pattern, tags, and at last
    the plain text, without a strategy. An object without a message has no text.

    Args:
        raw: The output.
        known_words: Words, in lower case, that are no speaker's name, such as those of the task:
            `Budget: 200` keeps its first word if it holds `budget`.
    """
    thoughts: list[str] = []
    spoken = _without_think_tags(raw[:MAX_OUTPUT_CHARS], thoughts)
    message, strategy = _read_fields(spoken, thoughts)
    # A lone surrogate, legal in JSON's escapes, would break whoever encodes the reply.
    message = message.encode("utf-8", "replace").decode("utf-8")
    text, marker = split_marker(strip_private(message, thoughts, known_words=known_words))
    if marker is not None:
        strategy = Strategy.CLOSE if marker == STOP else Strategy.INVALID
    return Utterance(text, strategy, "\n".join(filter(None, thoughts)), marker)


def strip_private(
    text: str, thoughts: list[str] | None = None, *, known_words: Container[str] = ()
) -> str:
    """Return the words of a message without inner thoughts and without the speaker's name.

    Args:
        text: Words, perhaps in the manner of role-play models:
            `Ann: [I must not tell] (nods) Perhaps.`
        thoughts: Collects what was removed.
        known_words: See `read_utterance`.

    Source:
        The format of CoSER's role-play models: `[inner thought]`, `(action)`, `Name:`.
    """
    removed = thoughts if thoughts is not None else []
    spoken = _without_brackets(_without_think_tags(text, removed), removed)
    name = _NAME.match(spoken)
    if name and not any(word.lower() in known_words for word in name.group(1).split()):
        spoken = spoken[name.end() :]
    other = _OTHER_SPEAKER.search(spoken)
    if other:
        spoken = spoken[: other.start()]
    return re.sub(r"[ \t]{2,}", " ", spoken).strip()


def trim(text: str, limit: int) -> str:
    """Return the text's whole sentences that fit, or its whole words if no sentence does."""
    if len(text) <= limit:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text) if match.end() <= limit]
    if ends:
        return text[: ends[-1]]
    head = text[: limit + 1]
    cut = head.rfind(" ")
    return head[:cut].rstrip() if cut > 0 else text[:limit]


def _without_think_tags(text: str, thoughts: list[str]) -> str:
    def keep_private(match: re.Match[str]) -> str:
        thoughts.append(match.group(2).strip())
        return " "

    spoken = _PRIVATE.sub(keep_private, text)
    # A template may have opened the tag in the prompt, and a limit may have cut its end off.
    closes = list(_CLOSE.finditer(spoken))
    if closes:
        thoughts.append(spoken[: closes[-1].start()].strip())
        spoken = spoken[closes[-1].end() :]
    opened = _OPEN.search(spoken)
    if opened:
        thoughts.append(spoken[opened.end() :].strip())
        spoken = spoken[: opened.start()]
    return spoken


def _without_brackets(text: str, thoughts: list[str]) -> str:
    """Remove bracketed spans, nested ones whole; an open one runs to the end of the text."""
    spoken: list[str] = []
    inner: list[str] = []
    depth = 0
    for character in text:
        if character == "[":
            depth += 1
        elif character == "]" and depth:
            depth -= 1
            if not depth:
                thoughts.append("".join(inner).strip())
                inner.clear()
                spoken.append(" ")
        elif character == "]":
            # The bracket was opened in the prompt: all so far was thought.
            thoughts.append("".join(spoken).strip())
            spoken.clear()
        else:
            (inner if depth else spoken).append(character)
    if inner:
        thoughts.append("".join(inner).strip())
    return "".join(spoken)


def _read_fields(spoken: str, thoughts: list[str]) -> tuple[str, Strategy]:
    """Return message and strategy of an output; the message is empty where none can be told."""
    bare = _FENCE.sub("", spoken).strip()
    found = _object(bare) or _object(_first_object(bare))
    if found is not None:
        thoughts.extend(
            str(found[key]) for key in ("thought", "thoughts", "reasoning") if found.get(key)
        )
        message = next((found[key] for key in _MESSAGE_KEYS if key in found), "")
        text = message if isinstance(message, str) else ""
        return text, read_strategy(found.get("strategy"))
    keyed = re.search(_KEYED.format("message"), bare)
    if keyed:
        label = re.search(_KEYED.format("strategy"), bare)
        return _unescape(keyed.group(1)), read_strategy(label and label.group(1))
    tagged = _MESSAGE_TAG.search(spoken)
    if tagged:
        label = _STRATEGY_TAG.search(spoken)
        return tagged.group(1), read_strategy(label and label.group(1))
    if _QUOTED_KEY.search(bare) or bare.startswith("{"):
        return "", Strategy.INVALID
    return _STRATEGY_TAG.sub(" ", spoken), Strategy.INVALID


def _object(text: str | None) -> Mapping[str, Any] | None:
    if not text or not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _first_object(text: str) -> str | None:
    """Return the first balanced object in a text, strings respected."""
    start = text.find("{")
    depth, quoted, escaped = 0, False, False
    for index in range(start, len(text)) if start >= 0 else ():
        character = text[index]
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = quoted
        elif character == '"':
            quoted = not quoted
        elif not quoted and character == "{":
            depth += 1
        elif not quoted and character == "}":
            depth -= 1
            if depth == 0:
                return text[start : index + 1]
    return None


def _unescape(text: str) -> str:
    try:
        return json.loads(f'"{text}"', strict=False)
    except ValueError:
        return text
