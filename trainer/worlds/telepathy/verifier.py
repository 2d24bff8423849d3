"""The telepathy verifier: whether a guess names the thing that the user thinks of.

A guess is right when its words, without articles, plurals and punctuation, are those of one of
the thing's names; no model is asked. `rejudge` recomputes everything from a recorded dialogue.
Deterministic; knows nothing about prompts, shaping or user engines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.message import Choice, read_action
from trainer.task import Task
from trainer.worlds.seam import Verdict

_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})
_LEAD_IN = re.compile(r"^\s*(?:it is|it's|is it|my guess is|i guess)\b[:\s]*", re.IGNORECASE)


@dataclass(frozen=True)
class TelepathyState:
    """What has happened so far, as far as it matters for the verdict."""

    guessed: bool = False
    num_wrong: int = 0
    heard: frozenset[str] = frozenset()
    """Ids of the attributes that replies told."""

    def guess(self, task: Task, content: str) -> TelepathyState:
        """Return the state after a guess."""
        if is_right(task.payload["names"], content):
            return replace(self, guessed=True)
        return replace(self, num_wrong=self.num_wrong + 1)

    def hear(self, task: Task, revealed: Sequence[str]) -> TelepathyState:
        """Return the state after a reply of the user; unknown ids are ignored."""
        known = {fact.id for fact in task.facts}
        return replace(self, heard=self.heard | (known & set(revealed)))


def is_right(names: Sequence[str], guess: str) -> bool:
    """True when a guess is one of the names; a list of guesses is none of them."""
    words = name_words(_LEAD_IN.sub("", guess))
    return bool(words) and any(words == name_words(name) for name in names)


def name_words(text: str) -> tuple[str, ...]:
    """Return what of a name counts: its words, sorted, in the singular, without articles."""
    words = (word for word in _WORD.findall(text.casefold().replace("'s", "")))
    return tuple(sorted(_singular(word) for word in words if word not in _ARTICLES))


def verdict(task: Task, state: TelepathyState) -> Verdict:
    """Judge a state; nothing is left to be paid, since the right guess paid at once."""
    return Verdict(
        success=float(state.guessed),
        reward=0.0,
        metrics={
            "guessed": float(state.guessed),
            "sum": float(state.guessed),
            "wrong_guesses": float(state.num_wrong),
            "attributes_heard": float(len(state.heard)),
        },
    )


def rejudge(
    task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
) -> Verdict:
    """Judge a recorded dialogue from the agent's words and the ids that replies disclosed."""
    state = TelepathyState()
    for turn in turns:
        if turn.speaker is Speaker.USER:
            state = state.hear(task, turn.revealed)
        elif turn.speaker is Speaker.AGENT:
            action = read_action(turn.text)
            if action.choice is Choice.ANSWER:
                state = state.guess(task, action.content)
    return verdict(task, state)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
