"""Scenarios: what the user of a real task knows and wants, read from prose into facts.

The benchmark writes a user as instructions to a model, in the second person. A symbolic user needs
facts: each sentence becomes one, voiced in the first person, and its own telling words are its
cues. This is a stand-in without a model: it knows what the prose says, not what it means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainer.task import Fact

GREETING = "Hello, I need some help."

_SECTIONS = (
    ("known_info", "known"),
    ("reason_for_call", "request"),
    ("task_instructions", "wish"),
    ("unknown_info", "unknown"),
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"[A-Za-z#][A-Za-z0-9_#'-]{3,}")
_COMMON = frozenset(
    "your yours you're you've want wants would like have with that this from they them their "
    "then than there will also just only into been were what when which because about".split()
)
_FIRST_PERSON: tuple[tuple[str, str], ...] = (
    (r"\byou are\b", "I am"), (r"\byou're\b", "I am"), (r"\byou were\b", "I was"),
    (r"\byou've\b", "I have"), (r"\byou'd\b", "I would"), (r"\byou'll\b", "I will"),
    (r"\byourself\b", "myself"), (r"\byours\b", "mine"), (r"\byour\b", "my"),
    (r"\b(to|for|with|by|gives|give|tell|tells|ask|asks|of) you\b", r"\1 me"), (r"\byou\b", "I"),
)  # fmt: skip
MAX_STATEMENT_CHARS = 280
MAX_CUES = 12


@dataclass(frozen=True)
class Scenario:
    """What a user knows and wants."""

    goal: str
    opening: str
    facts: tuple[Fact, ...] = ()


def scenario(record: Mapping[str, Any]) -> Scenario:
    """Return what the user of a real task record knows and wants."""
    instructions = (record.get("user_scenario") or {}).get("instructions") or ""
    if isinstance(instructions, str):
        instructions = {"task_instructions": instructions}
    facts: list[Fact] = []
    for section, kind in _SECTIONS:
        for sentence in _SENTENCE.split(instructions.get(section) or ""):
            if len(sentence.strip()) > 2:
                facts.append(_fact(f"F{len(facts) + 1}", kind, sentence.strip()))
    persona = (record.get("user_scenario") or {}).get("persona")
    parts = [f"You are like this: {persona}" if persona else None]
    parts += [instructions.get(section) for section, _ in _SECTIONS]
    goal = " ".join(text.strip() for text in parts if text)
    return Scenario(goal or GREETING, GREETING, tuple(facts))


def first_person(text: str) -> str:
    """Return a sentence about `you` as its subject would say it."""
    for pattern, replacement in _FIRST_PERSON:
        text = re.sub(pattern, replacement, text, flags=re.IGNORECASE)
    return text[:1].upper() + text[1:]


def _fact(fact_id: str, kind: str, sentence: str) -> Fact:
    words = (word.strip("'-").casefold() for word in _WORD.findall(sentence))
    cues = tuple(dict.fromkeys(word for word in words if word not in _COMMON))[:MAX_CUES]
    statement = first_person(sentence)[:MAX_STATEMENT_CHARS]
    return Fact(
        id=fact_id,
        kind=kind,
        text=f"{kind} of the scenario: {sentence}",
        statement=statement,
        cues=(*_CUES_OF_KIND[kind], *cues),
    )


_CUES_OF_KIND: Mapping[str, tuple[str, ...]] = {
    "known": ("who are you", "your name", "your details"),
    "request": ("how can I help", "what do you need", "your request"),
    "wish": ("any preferences", "anything to keep in mind"),
    "unknown": ("what you do not remember",),
}
