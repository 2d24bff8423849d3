"""Questions: what a world asks a judge, in full, and the closed form of an answer.

A question is plain data and names its own answer: the same question, word for word, has the same
digest, in the world's process as in the trainer's. Who answers, and how, is not known here
(`trainer.judges`), nor what an answer is worth (the verifier of a world).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

YES_NO = (0.0, 1.0)
"""The answers to a question of yes or no: 1 is yes."""
MAX_CRITERIA = 32
MAX_ALLOWED = 11
"""Values that one criterion may be given, at most."""
MAX_CHARS = 200_000
"""All texts of a question together."""
MAX_NAME_CHARS = 80

Answer = tuple[float, ...]
"""One allowed value for each criterion of a question, in their order."""
Answers = Mapping[str, Answer]
"""Answers by the digest of their question."""


@dataclass(frozen=True)
class Passage:
    """One piece of the material, such as the agent's story: data, whatever it says."""

    name: str
    """What it is, in a few words of the world's own."""
    text: str

    def __post_init__(self) -> None:
        # Half a surrogate pair, as a policy may write it, travels over no seam.
        object.__setattr__(self, "text", self.text.encode(errors="replace").decode())


@dataclass(frozen=True)
class Question:
    """One thing that a judge is to decide.

    Raises:
        ValueError: if there is no criterion, or too many, or too much of anything.
    """

    asks: str
    """What is to be decided for each criterion, addressed to the judge."""
    criteria: tuple[str, ...]
    material: tuple[Passage, ...]
    """All that the judge may go by."""
    allowed: tuple[float, ...] = YES_NO
    """The values that a criterion may be given, rising, in [0, 1]."""

    def __post_init__(self) -> None:
        # A number that has travelled as JSON must have the digest that it had before.
        object.__setattr__(self, "allowed", tuple(map(float, self.allowed)))
        if not 1 <= len(self.criteria) <= MAX_CRITERIA:
            raise ValueError(f"{len(self.criteria)} criteria; a question has 1 to {MAX_CRITERIA}")
        rising = all(low < high for low, high in zip(self.allowed, self.allowed[1:], strict=False))
        inside = all(math.isfinite(value) and 0 <= value <= 1 for value in self.allowed)
        if not 2 <= len(self.allowed) <= MAX_ALLOWED or not (rising and inside):
            raise ValueError(
                f"allowed values {self.allowed}; state 2 to {MAX_ALLOWED} rising ones in [0, 1]"
            )
        for one in self.material:
            if not one.name.isprintable() or not 0 < len(one.name) <= MAX_NAME_CHARS:
                raise ValueError(f"a passage is named {one.name[:40]!r}; use a few printable words")
        texts = (self.asks, *self.criteria, *(one.text for one in self.material))
        if (length := sum(map(len, texts))) > MAX_CHARS:
            raise ValueError(f"{length} characters in one question; it may have {MAX_CHARS}")

    @cached_property
    def digest(self) -> str:
        """Return 32 hexadecimal digits that no other question has."""
        content = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def accepts(self, answer: Answer) -> bool:
        """Whether an answer has one allowed value for each criterion."""
        return len(answer) == len(self.criteria) and set(answer) <= set(self.allowed)


@dataclass(frozen=True)
class Questions:
    """A world's word that it cannot go on without a judge; it stands where a result would."""

    asked: tuple[Question, ...]


def unanswered(questions: Iterable[Question], answers: Answers) -> Questions | None:
    """Return those of the questions that have no answer yet, each once; None if all have one."""
    open_ones = {one.digest: one for one in questions if one.digest not in answers}
    return Questions(tuple(open_ones.values())) if open_ones else None


def answers_on_file(judged: Any) -> dict[str, Answer]:
    """Return the answers that an episode's record holds under `judged`; odd entries are none.

    Whether one fits its question is seen when the question is asked again (`Question.accepts`).
    """
    found: dict[str, Answer] = {}
    for one in judged if isinstance(judged, list) else ():
        told = one if isinstance(one, Mapping) else {}
        question, answer = told.get("question"), told.get("answer")
        if isinstance(question, str) and isinstance(answer, list):
            numbers = [value for value in answer if isinstance(value, int | float)]
            found[question] = tuple(map(float, numbers))
    return found


def transcript(messages: Iterable[tuple[str, str]]) -> str:
    """Return a conversation as one line a message, whose words cannot pass for another message.

    Args:
        messages: Who speaks, in the world's own words, and what is said.
    """
    return "\n".join(f"{who}: {json.dumps(said, ensure_ascii=False)}" for who, said in messages)
