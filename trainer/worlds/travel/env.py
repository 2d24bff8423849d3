"""The travel world: hear wishes, search options, choose once for each aspect.

Deterministic: a task, settings, a seed and the same moves give the same results. It ends as soon
as every aspect has been chosen, well or badly. What a choice is worth is `verifier`'s word; what
things are called is `wording`'s.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trainer.episode import StopReason
from trainer.message import Action, Choice, Reply
from trainer.task import Task
from trainer.worlds import refusals
from trainer.worlds.disclosure import refuse_unknown
from trainer.worlds.prompt_style import prompt_style
from trainer.worlds.seam import Opening, StepResult, Verdict
from trainer.worlds.single_use import single_use

from . import verifier, wording  # noqa: TID252 - the folder is loaded by path
from .moves import (  # noqa: TID252
    aspect_of,
    fits,
    named_aspects,
    named_options,
    named_values,
    search_fails,
)
from .verifier import Grade, TravelState  # noqa: TID252

_CHOICE_EVENTS = {
    Grade.BEST: "choice_best",
    Grade.CORRECT: "choice_correct",
    Grade.WRONG: "choice_wrong",
}


@single_use
class TravelEnv:
    """One traveller's dialogue; see `trainer.worlds.seam.Env`."""

    def __init__(self, task: Task, settings: Mapping[str, Any], seed: int) -> None:
        self._task = task
        self._payload = task.payload
        self._style = prompt_style(settings)
        self._max_steps = int(settings.get("max_steps", 16))
        self._failure_every = int(
            settings.get("search_failure_every", verifier.SEARCH_FAILURE_EVERY)
        )
        self._seed = seed
        self._state = TravelState()
        self._narrowed: dict[str, dict[str, str]] = {}

    def start(self) -> Opening:
        """Begin the dialogue."""
        return Opening(
            wording.system(self._style, self._payload, self._max_steps),
            wording.opening(self._style, self._task),
        )

    def act(self, action: Action) -> StepResult:
        """Carry out one move of the agent."""
        match action.choice:
            case Choice.SEARCH:
                return self._search(action.content)
            case Choice.ANSWER:
                return self._answer(action.content)
            case Choice.ACTION:
                return StepResult(say=action.content)
            case Choice.FINISH:
                return StepResult(events=("finished",), stop=StopReason.FAILED)
            case _:
                return self._malformed(refusals.reason(action))

    def hear(self, reply: Reply) -> StepResult:
        """Note the wishes that a reply disclosed."""
        refuse_unknown(self._task, reply.revealed)
        still_open = verifier.open_facts(self._task, self._state)
        new = (still_open.keys() & set(reply.revealed)) - self._state.revealed
        self._state = replace(self._state, revealed=self._state.revealed | new)
        return StepResult(events=("preference_elicited",) * len(new) or ("off_topic",))

    def verdict(self) -> Verdict:
        """Judge the choices made so far."""
        return verifier.verdict(self._task, self._state)

    def _search(self, request: str) -> StepResult:
        number = self._state.num_searches + 1
        self._state = replace(self._state, num_searches=number)
        if search_fails(number, self._failure_every):
            return StepResult(wording.search_failed(self._style), events=("search_failed",))
        named = named_aspects(self._payload, request)
        if len(named) != 1:
            hint = wording.search_unclear(self._style, self._payload)
            return StepResult(hint, events=("search_unclear",))
        return self._list(named[0], request)

    def _list(self, aspect: str, request: str) -> StepResult:
        """List an aspect's options, narrowed by the wishes that this and earlier searches name."""
        options = self._shuffled(aspect)
        known = self._narrowed.get(aspect, {})
        wishes = {**known, **named_values(options, request)}
        if aspect in self._state.listed and wishes == known:
            pointer = wording.search_repeated(self._style, aspect)
            return StepResult(pointer, events=("search_repeated",))
        first = aspect not in self._state.listed
        self._narrowed[aspect] = wishes
        self._state = replace(self._state, listed=self._state.listed | {aspect})
        if not wishes:
            listing = wording.listing(self._style, aspect, options)
        else:
            fitting = sorted((one for one in options if fits(one, wishes)), key=_cost)
            listing = wording.narrowed(self._style, aspect, fitting)
        return StepResult(listing, events=("search_ok" if first else "search_narrowed",))

    def _shuffled(self, aspect: str) -> list[Mapping[str, Any]]:
        """Return an aspect's options in an order that belongs to the episode and the aspect."""
        groups = self._payload[aspect]["options"]
        options = [option for name in ("correct", "wrong", "noise") for option in groups[name]]
        random.Random(f"{self._seed}:{aspect}").shuffle(options)
        return options

    def _answer(self, content: str) -> StepResult:
        named = named_options(content)
        if len(named) != 1:
            return self._malformed(f"an answer names one option id, this one names {len(named)}")
        aspect = aspect_of(self._payload, named[0])
        if aspect is None:
            return self._malformed(f"{named[0]} belongs to no aspect of this trip")
        if aspect in self._state.chosen:
            refusal = wording.choice_repeated(self._style, aspect)
            return StepResult(refusal, events=("choice_repeated",))
        given = verifier.grade(self._payload, aspect, named[0])
        withdrawn = tuple(
            name
            for name, its_aspect in verifier.open_facts(self._task, self._state).items()
            if its_aspect == aspect
        )
        self._state = replace(self._state, chosen={**self._state.chosen, aspect: given})
        return StepResult(
            observation=wording.feedback(self._style, named[0], aspect, given),
            events=(_CHOICE_EVENTS[given],),
            reward=verifier.choice_reward(self._payload, given),
            stop=self._ending(),
            withdrawn=withdrawn,
        )

    def _ending(self) -> StopReason | None:
        if len(self._state.chosen) < len(self._payload["dimensions"]):
            return None
        all_best = all(given is Grade.BEST for given in self._state.chosen.values())
        return StopReason.SOLVED if all_best else StopReason.FAILED

    def _malformed(self, reason: str) -> StepResult:
        return StepResult(wording.malformed(self._style, reason), events=("malformed",))


def _cost(option: Mapping[str, Any]) -> float:
    """Return what an option costs; one without a price stands last."""
    cost = option.get("cost")
    return float(cost) if isinstance(cost, int | float) else float("inf")


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> TravelEnv:
    """Return a fresh world for one episode; see `trainer.worlds.seam.EnvFactory`."""
    return TravelEnv(task, settings, seed)
