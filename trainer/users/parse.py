"""Parsing: what an agent's message does, and which facts it asks for.

Plain phrases and punctuation, no grammar and no model: the same message always reads the same.
A turn that asks and answers is both, and counts as a question. What the user replies is not
known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from trainer.users.cues import CueTable, Match, words_of
from trainer.users.stopping import split_marker

MAX_CHARS = 20_000
"""Of a longer message only the end is read: that is where a question stands."""


class Act(StrEnum):
    """What an agent's message does."""

    ASK = "ask"
    ANSWER = "answer"
    BOTH = "both"
    """It asks and answers; it counts as a question."""
    TOOL = "tool"
    """It is a call meant for the environment, not words to the user."""
    OTHER = "other"

    @property
    def asks(self) -> bool:
        """True when the message holds a question, whatever else it does."""
        return self in (Act.ASK, Act.BOTH)

    @property
    def answers(self) -> bool:
        """True when the message offers a solution, whatever else it does."""
        return self in (Act.ANSWER, Act.BOTH)


ASK_PHRASES = (
    "tell me", "let me know", "could you", "can you", "would you", "do you", "are you", "is there",
    "are there", "may i know", "i need to know", "i would like to know", "please share",
    "please describe", "please specify", "please explain", "please clarify", "any preference",
    "any preferences",
)  # fmt: skip
ANSWER_PHRASES = (
    "i recommend", "i suggest", "i choose", "i chose", "i have chosen", "i booked",
    "i have booked", "i've booked", "i would go with", "my answer", "the answer is",
    "final answer", "best option is", "here is", "here are", "i found",
)  # fmt: skip
PROMISE_PHRASES = ("i will", "i'll", "i am going to", "i'm going to", "one moment", "please wait")

_OPENERS = re.compile(
    r"(?:^|[.!;:,]\s*|\b(?:and|so|but|also|please)\s+)"
    r"(?:what|which|when|where|who|how|why|whose|tell|describe|specify)\b"
)
_TOOL = re.compile(r"^\s*(?:\[\s*(?:search|tool|finish)\s*\]|<tool_call>|\{)", re.IGNORECASE)
_ANSWER_TAG = re.compile(r"^\s*\[\s*answer\s*\]", re.IGNORECASE)
_OPTION_ID = re.compile(r"\b[A-Z]{1,2}[0-9]{1,4}\b")


@dataclass(frozen=True)
class Phrases:
    """The phrases that a rule set adds to the built-in ones, compiled once."""

    ask: re.Pattern[str]
    answer: re.Pattern[str]
    promise: re.Pattern[str]


def compile_phrases(
    ask: Iterable[str] = (), answer: Iterable[str] = (), promise: Iterable[str] = ()
) -> Phrases:
    """Return the built-in phrases and the given ones, ready to be looked for."""
    return Phrases(
        ask=any_phrase((*ASK_PHRASES, *ask)),
        answer=any_phrase((*ANSWER_PHRASES, *answer)),
        promise=any_phrase((*PROMISE_PHRASES, *promise)),
    )


def any_phrase(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of the phrases as whole words in case-folded text."""
    alternatives = "|".join(re.escape(phrase.casefold()) for phrase in phrases)
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)" if alternatives else r"(?!)")


BUILT_IN = compile_phrases()


@dataclass(frozen=True)
class Parsed:
    """One message of the agent, as the user understands it."""

    act: Act
    matches: tuple[Match, ...]
    """Every fact with a score above zero, best first."""
    text: str
    """The message case folded and without stop markers, for phrase conditions."""
    promises: bool
    """True when the agent says it is about to do something."""


def parse(message: str, table: CueTable, phrases: Phrases = BUILT_IN) -> Parsed:
    """Return what a message does and which facts it asks for.

    Args:
        message: The agent's words; stop markers in it mean nothing and are ignored.
        table: The cues of the task's facts.
        phrases: What counts as asking, answering and promising.
    """
    spoken = split_marker(message[-MAX_CHARS:]).text
    folded = spoken.casefold().replace("\u2019", "'")
    return Parsed(
        act=_act(spoken, folded, phrases),
        matches=tuple(table.match(words_of(folded))),
        text=folded,
        promises=phrases.promise.search(folded) is not None,
    )


def _act(spoken: str, folded: str, phrases: Phrases) -> Act:
    if _TOOL.match(spoken):
        return Act.TOOL
    asks = (
        "?" in spoken
        or "\uff1f" in spoken
        or phrases.ask.search(folded) is not None
        or _OPENERS.search(folded) is not None
    )
    answers = (
        _ANSWER_TAG.match(spoken) is not None
        or phrases.answer.search(folded) is not None
        or _OPTION_ID.search(spoken) is not None
    )
    if asks:
        return Act.BOTH if answers else Act.ASK
    return Act.ANSWER if answers else Act.OTHER
