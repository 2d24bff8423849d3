"""The persuasion verifier: where the holder of a claim stands, and what a move of theirs is worth.

The stance is a number on PersuadeGym's scale and nothing else can be stored. A turn pays for the
part of the scale that was reached for the first time, so going back and forth earns nothing;
PersuadeGym's own sum, which such a dance can push above 1, is reported beside it. `rejudge`
recomputes everything from a recorded dialogue. Deterministic; knows nothing about prompts,
shaping or user engines.
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

STANCES = (
    "Strongly Agree",
    "Agree",
    "Partly Agree",
    "Neutral",
    "Partly Disagree",
    "Disagree",
    "Strongly Disagree",
)
"""The scale; a holder starts at its first word and is convinced at its last."""
LAST = len(STANCES) - 1
PLACES = 6
"""Decimals to which PersuadeGym rounds a turn's reward."""

MIN_WORDS = 3
"""Different words of `MIN_WORD_CHARS` letters that make a message an argument: a keyword alone is
none, or a list of topics would persuade."""
MIN_WORD_CHARS = 4

_WORD = re.compile(r"[^\W\d_]+")
_INSULT = re.compile(
    r"\b(?:stupid|idiot(?:ic|s)?|moron(?:ic|s)?|dumb|ridiculous|shut up|nonsense|ignorant|fool)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class PersuasionState:
    """Where the holder stands."""

    stance: int = 0
    """Index into `STANCES`."""
    turn_start: int = 0
    """The stance before the agent's newest message."""
    highest: int = 0
    conceded: frozenset[str] = frozenset()
    """Ids of the points that the holder has granted."""
    published_sum: float = 0.0
    """PersuadeGym's sum of turn rewards."""
    num_insults: int = 0

    def __post_init__(self) -> None:
        for stance in (self.stance, self.turn_start, self.highest):
            if type(stance) is not int or not 0 <= stance <= LAST:
                raise ValueError(f"stance {stance!r} is off the scale; it has 0 to {LAST}")

    def argue(self, content: str) -> PersuasionState:
        """Return the state after a message of the agent; an insult moves the holder back."""
        insult = offends(content)
        return replace(
            self,
            turn_start=self.stance,
            stance=max(0, self.stance - 1) if insult else self.stance,
            num_insults=self.num_insults + insult,
        )

    def hear(self, task: Task, revealed: Sequence[str]) -> PersuasionState:
        """Return the state after the holder's reply; unknown points are ignored."""
        steps = {fact.id: int(fact.weight) for fact in task.facts}
        new = (steps.keys() & set(revealed)) - self.conceded
        stance = min(LAST, self.stance + sum(steps[name] for name in new))
        return replace(
            self,
            stance=stance,
            highest=max(self.highest, stance),
            conceded=self.conceded | new,
            published_sum=self.published_sum + published_reward(self.turn_start, stance),
        )


def offends(content: str) -> bool:
    """True when a message insults the holder."""
    return _INSULT.search(content) is not None


def is_argument(content: str) -> bool:
    """True when a message says enough for the holder to be asked about it."""
    words = {word for word in _WORD.findall(content.casefold()) if len(word) >= MIN_WORD_CHARS}
    return len(words) >= MIN_WORDS


def published_reward(old: int, new: int) -> float:
    """Return PersuadeGym's reward of a turn that moved a holder from one stance to another."""
    return round(max(0, new - old) / LAST, PLACES)


def paid(before: PersuasionState, after: PersuasionState) -> float:
    """Return the task reward of a reply: the part of the scale reached for the first time."""
    return (after.highest - before.highest) / LAST


def verdict(task: Task, state: PersuasionState) -> Verdict:
    """Judge a state; nothing is left to be paid, since each reply paid when it was heard."""
    convinced = float(state.highest == LAST)
    return Verdict(
        success=convinced,
        reward=0.0,
        metrics={
            "convinced": convinced,
            "progress": state.highest / LAST,
            "sum": state.published_sum,
            "stance": float(state.stance),
            "insults": float(state.num_insults),
        },
    )


def rejudge(
    task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
) -> Verdict:
    """Judge a recorded dialogue from the agent's words and the points that replies granted."""
    state = PersuasionState()
    for turn in turns:
        if turn.speaker is Speaker.USER:
            state = state.hear(task, turn.revealed)
        elif turn.speaker is Speaker.AGENT:
            action = read_action(turn.text)
            if action.choice in (Choice.ACTION, Choice.ANSWER):
                state = state.argue(action.content)
    return verdict(task, state)
