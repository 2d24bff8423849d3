"""Customers of TauGym: what one knows and wants, read from prose into facts.

Each sentence of an instruction is a fact, as in tau2's scenarios, and is asked for by its own
telling words. Beyond that, what a sentence is about decides by which questions of a desk it is
asked for. This is a stand-in without a model: it knows what the prose says, not what it means.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from trainer.task import Fact
from trainer.worlds.tau2.scenario import scenario


class About(NamedTuple):
    """Something that a sentence may be about."""

    kind: str
    signs: re.Pattern[str]
    """Occur in a sentence that is about it."""
    cues: tuple[str, ...]
    """Occur in a question for it."""


def _about(kind: str, signs: str, *cues: str) -> About:
    return About(kind, re.compile(signs), cues)


ABOUT = (
    _about(
        "identity",
        r"\b\d{5}\b|@|\b[Uu]ser id\b|\bname is\b|\b[a-z]+_[a-z]+_\d{4}\b",
        "your name", "who are you", "zip code", "email", "user id", "verify your identity",
    ),
    _about(
        "subject",
        r"#W\d+|\borders?\b|\breservations?\b|\bflights?\b|\btrips?\b|\b(?=\w*\d)[A-Z0-9]{6}\b",
        "which order", "order number", "order id", "which reservation", "reservation id",
        "reservation number",
    ),
    _about(
        "wish",
        r"\b(wants?|(?:would|'d) like|wish|[Rr]eturn|[Ee]xchange|[Cc]ancel|[Mm]odify|change|book"
        r"|add|upgrade|[Nn]eed)\b",
        "how can I help", "what would you like", "your request", "which items", "what to do",
    ),
    _about(
        "payment",
        r"credit.?card|gift.?card|paypal|\bpay|certificate|refund",
        "payment method", "how to pay", "refund method",
    ),
    _about(
        "reason",
        r"because|reason|mistake|no longer|\b(?:sick|ill|weather|damaged|broken)\b",
        "the reason", "why",
    ),
    _about(
        "terms",
        r"^If\b|\bprefer|\bonly\b|\b(?:do not|don't)\b",
        "any preferences", "anything to keep in mind", "which option",
    ),
)  # fmt: skip
"""In the order in which a sentence takes its kind from the first that it is about."""
OTHER = _about("other", "", "anything to keep in mind")

_MANNER = re.compile(r"You are (?:an? )?[a-z]+(?:,? (?:and )?[a-z]+)*\.?")
"""A sentence that only says what somebody is like: nobody is told it, and nobody asks."""


def facts_of(instruction: str) -> tuple[Fact, ...]:
    """Return what the customer of an instruction tells when asked."""
    read = scenario(_record(instruction)).facts
    told = [fact for fact in read if not _MANNER.fullmatch(_sentence(fact))]
    return tuple(_asked_for(f"F{number}", fact) for number, fact in enumerate(told, start=1))


def _asked_for(fact_id: str, fact: Fact) -> Fact:
    sentence = _sentence(fact)
    about = [one for one in ABOUT if one.signs.search(sentence)] or [OTHER]
    common = [cue for one in about for cue in one.cues]
    telling = [cue for cue in fact.cues if " " not in cue]
    return replace(
        fact,
        id=fact_id,
        kind=about[0].kind,
        text=f"{about[0].kind} of the customer: {sentence}",
        cues=tuple(dict.fromkeys((*common, *telling))),
    )


def _sentence(fact: Fact) -> str:
    return fact.text.partition(": ")[2]


def _record(instruction: str) -> Mapping[str, Any]:
    return {"user_scenario": {"instructions": instruction}}
