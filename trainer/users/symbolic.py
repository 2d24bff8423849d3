"""The symbolic user: explicit state, the first rule that holds, a template's words.

Same task, message, memory, knobs and seed, same reply. Whatever the rules say, a reply tells at
most `facts_per_reply` facts, none of them more than `max_reveals` times over the dialogue, and
never exceeds `max_reply_chars`: facts that do not fit are left out whole. This module knows
nothing about models, tokens or what a reply is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from trainer import seeds
from trainer.episode import Voice
from trainer.task import Fact
from trainer.users.cues import CueTables
from trainer.users.parse import parse
from trainer.users.rules import Deed, Rule, RuleSet
from trainer.users.seam import UserFailure, UserReply, UserRequest, UserState
from trainer.users.settings import read_settings
from trainer.users.situation import Situation, assess, holds
from trainer.users.strategy import Strategy
from trainer.users.template import FACTS, KIND

NO_RULE = "no_rule"
"""`UserReply.rule` when no rule of the world holds: a fault of the rule set, told as such."""
TOO_LONG = "too_long"
"""`UserReply.rule` when nothing that the rule could say fits `max_reply_chars`."""
NO_RULE_TEXT = "I have nothing to say to that."
# Shortest last: the knob's lower end fits the first, and even one character fits the last.
_TOO_LONG_TEXTS = ("That is too long to say here.", "Too long.", "-")


class _Words(NamedTuple):
    """What a reply says and which facts it tells."""

    text: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class SymbolicUser:
    """Answers by the rules of each task's world."""

    rules: Mapping[str, RuleSet]
    """Rule set by name of world."""
    _tables: CueTables = field(default_factory=CueTables, repr=False, compare=False)

    @property
    def voice(self) -> Voice:
        """Always `symbolic`."""
        return Voice.SYMBOLIC

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Answer each message by rule; a symbolic user never fails.

        Raises:
            ValueError: if a task's world has no rule set, or a setting is missing.
        """
        return [self._reply(request) for request in requests]

    def _reply(self, request: UserRequest) -> UserReply:
        rule_set = self.rules.get(request.task.world)
        if rule_set is None:
            known = ", ".join(sorted(self.rules)) or "none"
            raise ValueError(
                f"no user rules for world {request.task.world!r} (known: {known}); "
                f"load trainer/worlds/{request.task.world}/user.yaml"
            )
        parsed = parse(request.message, self._tables.table(request.task), rule_set.phrases)
        situation = assess(request.task, parsed, request.state, read_settings(request.settings))
        rule = next((rule for rule in rule_set.rules if holds(rule, situation)), None)
        words = _speak(rule, situation, request.seed) if rule else _fitting(NO_RULE_TEXT, situation)
        return UserReply(
            text=words.text if words else _too_long(situation),
            voice=Voice.SYMBOLIC,
            state=_remember(request.state, situation, words.facts if words else ()),
            rule=TOO_LONG if words is None else (rule.id if rule else NO_RULE),
            revealed=tuple(fact.id for fact in words.facts) if words else (),
            # An ending holds even where its words do not fit.
            ends=rule is not None and rule.deed is Deed.CLOSE,
            private=_private(rule, words, situation),
        )


def _speak(rule: Rule, situation: Situation, seed: int) -> _Words | None:
    """Return the words of a rule, None if none of its variants fits."""
    turn = seeds.derive(seed, "say") + situation.replies
    first = turn % len(rule.say)
    variants = rule.say[first:] + rule.say[:first]
    kind = situation.hit_kinds[0] if situation.hit_kinds else "that"
    values = {KIND: kind.replace(".", " ").replace("_", " "), FACTS: ""}
    if rule.deed is Deed.REVEAL:
        facts, most = situation.tellable, situation.settings.facts_per_reply
    elif rule.deed is Deed.VOLUNTEER:
        start = seeds.derive(seed, "volunteer", situation.replies) % len(situation.remaining)
        facts, most = situation.remaining[start:] + situation.remaining[:start], 1
    else:
        facts, most = (), 0
    # Facts are taken while the reply still fits, so that none is ever cut.
    chosen: tuple[Fact, ...] = ()
    text = None
    for fact in facts:
        if len(chosen) == most:
            break
        values[FACTS] = " ".join(told.statement for told in (*chosen, fact))
        longer = _first_fitting([variant.fill(values) for variant in variants], situation)
        if longer is not None:
            text, chosen = longer, (*chosen, fact)
    if not rule.deed.discloses:
        text = _first_fitting([variant.fill(values) for variant in variants], situation)
    return None if text is None else _Words(text, chosen)


def _first_fitting(texts: Sequence[str], situation: Situation) -> str | None:
    limit = situation.settings.max_reply_chars
    return next((text for text in texts if text.strip() and len(text) <= limit), None)


def _fitting(text: str, situation: Situation) -> _Words | None:
    return _Words(text) if _first_fitting([text], situation) else None


def _too_long(situation: Situation) -> str:
    return _first_fitting(_TOO_LONG_TEXTS, situation) or _TOO_LONG_TEXTS[-1]


def _remember(state: UserState, situation: Situation, told: tuple[Fact, ...]) -> UserState:
    counts = dict(state.reveal_counts)
    for fact in told:
        counts[fact.id] = counts.get(fact.id, 0) + 1
    return replace(
        state,
        reveal_counts=counts,
        num_replies=state.num_replies + 1,
        num_questions=situation.questions,
        num_unhelpful=0 if told else state.num_unhelpful + 1,
    )


def _private(rule: Rule | None, words: _Words | None, situation: Situation) -> dict[str, object]:
    if rule is None:
        strategy = Strategy.INVALID
    elif words is None and rule.deed.discloses:
        strategy = Strategy.BE_VAGUE
    else:
        strategy = rule.strategy
    return {
        "strategy": strategy.value,
        "act": situation.parsed.act.value,
        "match": str(situation.match),
        "score": round(situation.score, 4),
    }
