"""Rules: what a world's symbolic user does, read from YAML and checked whole.

A rule is data: conditions over the situation, what the reply does, and variants of its words.
Nothing in a rule file is executed. A file is accepted whole or refused with every fault's line
and column; an empty file is a rule set in which no rule holds. Whether a condition holds is
decided in `trainer.users.situation`.

    version: 1
    rules:                          # the first rule that holds answers
      - id: reveal
        when: {act: [ask, both], match: [open]}
        do: reveal
        say: ["{facts}"]
        strategy: reveal_piece      # private label; each deed has a default
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trainer.users.parse import BUILT_IN, Act, Phrases, any_phrase, compile_phrases
from trainer.users.strategy import Strategy
from trainer.users.template import Template

MATCH_NONE = "none"
"""The word of a `match` condition for a question that hit no fact."""


class Deed(StrEnum):
    """What a reply does."""

    REVEAL = "reveal"
    """Tell the facts that the question hit."""
    VOLUNTEER = "volunteer"
    """Tell one fact that nobody asked for."""
    NUDGE = "nudge"
    DECLINE = "decline"
    FORGET = "forget"
    ACKNOWLEDGE = "acknowledge"
    """Accept what the agent offers; holds only from the knob `min_questions` on."""
    SMALLTALK = "smalltalk"
    CLOSE = "close"
    """End the conversation; holds only from the knob `min_questions` on."""

    @property
    def discloses(self) -> bool:
        """True when the reply tells facts."""
        return self in (Deed.REVEAL, Deed.VOLUNTEER)

    @property
    def accepts(self) -> bool:
        """True when the reply takes the agent's word as good."""
        return self in (Deed.ACKNOWLEDGE, Deed.CLOSE)


DEFAULT_STRATEGIES: Mapping[Deed, Strategy] = {
    Deed.REVEAL: Strategy.REVEAL_PIECE,
    Deed.VOLUNTEER: Strategy.REVEAL_PIECE,
    Deed.NUDGE: Strategy.ASK_CLARIFICATION,
    Deed.DECLINE: Strategy.ASK_CLARIFICATION,
    Deed.FORGET: Strategy.BE_VAGUE,
    Deed.ACKNOWLEDGE: Strategy.CONFIRM,
    Deed.SMALLTALK: Strategy.BE_VAGUE,
    Deed.CLOSE: Strategy.CLOSE,
}


@dataclass(frozen=True)
class Bound:
    """A half-open interval of a quantity; a text names a setting, None sets no limit."""

    at_least: float | str | None = None
    below: float | str | None = None


@dataclass(frozen=True)
class When:
    """Conditions that must all hold; None stands for a condition not given."""

    acts: frozenset[Act] | None = None
    matches: frozenset[str] | None = None
    """Values of `Standing`, or `none`."""
    kinds: tuple[str, ...] | None = None
    bounds: tuple[tuple[str, Bound], ...] = ()
    """Bounds by quantity: score, questions, unhelpful, replies, remaining."""
    promises: bool | None = None
    volunteer_due: bool | None = None
    says: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Rule:
    """One way to answer."""

    id: str
    when: When
    deed: Deed
    say: tuple[Template, ...]
    strategy: Strategy


@dataclass(frozen=True)
class RuleSet:
    """The rules of one world, in the order in which they are tried."""

    rules: tuple[Rule, ...] = ()
    phrases: Phrases = field(default=BUILT_IN)


BOUNDED = ("score", "questions", "unhelpful", "replies", "remaining")
"""Quantities that a rule may bound."""


def build(value: Mapping[str, Any]) -> RuleSet:
    """Return the rule set of checked values (see `trainer.users.rule_file`)."""
    phrases = value.get("phrases") or {}
    return RuleSet(
        rules=tuple(_rule(entry) for entry in value.get("rules") or ()),
        phrases=compile_phrases(**phrases) if phrases else BUILT_IN,
    )


def _rule(entry: Mapping[str, Any]) -> Rule:
    deed = Deed(entry["do"])
    return Rule(
        id=entry["id"],
        when=_when(entry.get("when", {})),
        deed=deed,
        say=tuple(Template.read(text) for text in entry["say"]),
        strategy=Strategy(entry.get("strategy", DEFAULT_STRATEGIES[deed])),
    )


def _when(entry: Mapping[str, Any]) -> When:
    return When(
        acts=frozenset(Act(act) for act in entry["act"]) if "act" in entry else None,
        matches=frozenset(entry["match"]) if "match" in entry else None,
        kinds=tuple(entry["kind"]) if "kind" in entry else None,
        bounds=tuple((name, Bound(**entry[name])) for name in BOUNDED if name in entry),
        promises=entry.get("promises"),
        volunteer_due=entry.get("volunteer_due"),
        says=any_phrase(entry["says"]) if "says" in entry else None,
    )
