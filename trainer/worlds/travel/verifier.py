"""The travel verifier: what a choice is worth, and whether a dialogue reached its goal.

`grade` and `verdict` judge a state; `rejudge` folds a recorded dialogue into that state with
nothing but the agent's words and the ids that the user disclosed, so it needs no word of the
world's own about itself. Deterministic; knows nothing about prompts, shaping or user engines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.message import Choice, read_action
from trainer.task import Task
from trainer.worlds.seam import Verdict

from .moves import aspect_of, named_aspects, named_options, search_fails  # noqa: TID252 - by path

SLACK = 1e-9
"""Sums of rewards are compared with this much tolerance."""

SEARCH_FAILURE_EVERY = 5
_SUM_SEARCH = 0.2
_SUM_WISH = 0.6


class Grade(StrEnum):
    """How good a choice is."""

    BEST = "best"
    CORRECT = "correct"
    WRONG = "wrong"


REWARDS: Mapping[Grade, float] = {Grade.BEST: 1.0, Grade.CORRECT: 0.8, Grade.WRONG: 0.0}
"""What one choice is worth before it is divided by the number of aspects (UserGym's values)."""


@dataclass(frozen=True)
class TravelState:
    """What has happened so far, as far as it matters for the verdict."""

    chosen: Mapping[str, Grade] = field(default_factory=dict)
    """Grade of the one choice of each aspect that has been chosen."""
    revealed: frozenset[str] = frozenset()
    """Ids of the wishes disclosed while their aspect was open."""
    listed: frozenset[str] = frozenset()
    """Aspects whose options were listed."""
    num_searches: int = 0


def grade(payload: Mapping[str, Any], aspect: str, option_id: str) -> Grade:
    """Return how good an option is for its aspect; one that does not exist is wrong."""
    if option_id == payload[aspect]["best_id"]:
        return Grade.BEST
    correct = option_id in payload[aspect]["correct_ids"]
    return Grade.CORRECT if correct else Grade.WRONG


def choice_reward(payload: Mapping[str, Any], given: Grade) -> float:
    """Return the task reward of one choice, so that an episode's total lies in [0, 1]."""
    return REWARDS[given] / len(payload["dimensions"])


def open_facts(task: Task, state: TravelState) -> dict[str, str]:
    """Return the aspect of every wish whose aspect is not chosen yet, by fact id."""
    aspects = {fact.id: fact.kind.partition(".")[0] for fact in task.facts}
    return {name: aspect for name, aspect in aspects.items() if aspect not in state.chosen}


def verdict(task: Task, state: TravelState) -> Verdict:
    """Judge a state; nothing is left to be paid, since each choice paid when it was made."""
    num_aspects = len(task.payload["dimensions"])
    choices = sum(REWARDS[given] for given in state.chosen.values())
    all_best = float(choices >= num_aspects - SLACK)
    return Verdict(
        success=all_best,
        reward=0.0,
        metrics={
            "all_best": all_best,
            "travel_choice": choices / num_aspects,
            "sum": choices + _SUM_SEARCH * len(state.listed) + _SUM_WISH * len(state.revealed),
            "wishes_learnt": len(state.revealed) / max(len(task.facts), 1),
            "aspects_chosen": len(state.chosen) / num_aspects,
        },
    )


def rejudge(
    task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
) -> Verdict:
    """Judge a recorded dialogue from its turns alone.

    Args:
        task: The task that was played.
        turns: The recorded conversation; only agent turns and disclosed ids are read.
        settings: The world's settings at the time; `search_failure_every` matters for `sum`.
    """
    every = int((settings or {}).get("search_failure_every", SEARCH_FAILURE_EVERY))
    state = TravelState()
    for turn in turns:
        if turn.speaker is Speaker.USER:
            revealed = state.revealed | (open_facts(task, state).keys() & set(turn.revealed))
            state = replace(state, revealed=revealed)
        elif turn.speaker is Speaker.AGENT:
            state = _after(task.payload, state, turn.text, every)
    return verdict(task, state)


def _after(payload: Mapping[str, Any], state: TravelState, text: str, every: int) -> TravelState:
    """Return the state after one agent turn."""
    action = read_action(text)
    if action.choice is Choice.SEARCH:
        number = state.num_searches + 1
        named = named_aspects(payload, action.content)
        found = len(named) == 1 and not search_fails(number, every)
        listed = state.listed | set(named) if found else state.listed
        return replace(state, num_searches=number, listed=listed)
    if action.choice is Choice.ANSWER:
        named = named_options(action.content)
        aspect = aspect_of(payload, named[0]) if len(named) == 1 else None
        if aspect is not None and aspect not in state.chosen:
            given = grade(payload, aspect, named[0])
            return replace(state, chosen={**state.chosen, aspect: given})
    return state
