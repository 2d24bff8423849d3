"""Scripted travel agents: an expert, and three that are worse in known ways.

They read the conversation and nothing else: options from the listings, wishes from the user's
statements by the closed table of `content`. So what the oracle reaches, an agent can reach.
Made for our own tasks; TravelGym's free-text options are beyond them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from trainer import seeds
from trainer.episode import Speaker, Turn
from trainer.message import Choice, read_action
from trainer.task import Task
from trainer.worlds.player import Player, PlayerFactory
from trainer.worlds.travel.content import LETTERS, SMALL_TOPICS, TOPICS, VOICED
from trainer.worlds.travel.moves import named_aspects, named_options

HASTY_SKIP = 0.8
"""Probability that the player `hasty` leaves out a question after its first; see `hasty`."""

_MAX_ASKS = 2
_ASPECT_OF_LETTER = {letter: aspect for aspect, letter in LETTERS.items()}
_TOPIC_OF_VALUE = {
    (aspect, value): topic
    for aspect, topics in TOPICS.items()
    for topic, entry in topics.items()
    for value in entry.hints
}
_VALUES = {value for _, value in _TOPIC_OF_VALUE}
_SPOKEN = "|".join(aspect.replace("_", " ") for aspect in TOPICS)
_LISTING = re.compile(rf"^(?:Options for the )?({_SPOKEN}):\s(.*)$", re.DOTALL)
_ROW = re.compile(r"[,\n]")
_COST = re.compile(r"(?<![A-Z\d])\d+\b")
_WORD = re.compile(r"[a-z]+")
_SHORT_COUNTS = re.compile(r"Wishes: (\d(?:, \d)*)\.")
_WISHES = re.compile(rf"(\d) about the ({_SPOKEN})")


@dataclass(frozen=True)
class Option:
    """An option as the agent sees it."""

    id: str
    cost: int | None
    properties: Mapping[str, str]
    """Topic -> value; an incomplete option lacks some."""


@dataclass
class Notes:
    """What an attentive agent knows after reading the conversation."""

    aspects: list[str]
    num_wishes: dict[str, int]
    """By aspect, where the user's first message gave the number."""
    options: dict[str, tuple[Option, ...]] = field(default_factory=dict)
    """By aspect, everything that a search without wishes listed."""
    shortlist: dict[str, tuple[Option, ...]] = field(default_factory=dict)
    """By aspect, what the newest search with wishes left, cheapest first."""
    searched: dict[str, set[str]] = field(default_factory=dict)
    """By aspect, the wished values that searches have named."""
    searching: tuple[str, ...] = ()
    """Wished values that the newest search names; it may have failed."""
    counted: bool = False
    """True where the opening numbers the wishes; else every aspect has its usual topics."""
    wishes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    chosen: set[str] = field(default_factory=set)
    num_moves: int = 0

    def open_topics(self, aspect: str) -> list[str]:
        """Return the listed or usual topics on which no wish is known, least asked first."""
        wishes = self.wishes.get(aspect, {})
        if len(wishes) >= self.num_wishes.get(aspect, len(TOPICS[aspect])):
            return []
        options = self.options.get(aspect, ())
        listed = [topic for option in options for topic in option.properties]
        names = dict.fromkeys(listed or SMALL_TOPICS.get(aspect, ()))
        topics = [topic for topic in names if topic not in wishes]
        return sorted(topics, key=lambda topic: self.asked[aspect, topic])


def read_notes(turns: Sequence[Turn]) -> Notes:
    """Return what the conversation tells, system turn first."""
    opening = turns[1].text
    aspects = named_aspects({"dimensions": list(TOPICS)}, opening)
    counts = {name.replace(" ", "_"): int(num) for num, name in _WISHES.findall(opening)}
    short = _SHORT_COUNTS.search(opening)
    if short is not None:
        ordered = sorted(aspects, key=lambda name: opening.find(name.replace("_", " ")))
        counts = dict(zip(ordered, map(int, short.group(1).split(", ")), strict=True))
    notes = Notes(aspects, counts, counted=bool(counts))
    for turn in turns[2:]:
        if turn.speaker is Speaker.AGENT:
            _read_own_move(notes, turn.text)
        elif turn.speaker is Speaker.TOOL:
            found = _read_listing(turn.text)
            if found is not None:
                _note_listing(notes, *found)
        else:
            for aspect, topic, value in _read_wishes(turn.text):
                notes.wishes.setdefault(aspect, {})[topic] = value
    return notes


def _read_own_move(notes: Notes, text: str) -> None:
    notes.num_moves += 1
    action = read_action(text)
    if action.choice is Choice.SEARCH:
        words = _WORD.findall(action.content.lower())
        notes.searching = tuple(word for word in words if word in _VALUES)
    elif action.choice is Choice.ANSWER:
        notes.chosen |= {_ASPECT_OF_LETTER[name[0]] for name in named_options(action.content)}
    elif action.choice is Choice.ACTION:
        words = set(_WORD.findall(action.content.lower()))
        for aspect in named_aspects({"dimensions": list(TOPICS)}, action.content):
            notes.asked.update((aspect, topic) for topic in TOPICS[aspect] if topic in words)


def _note_listing(notes: Notes, aspect: str, options: tuple[Option, ...]) -> None:
    if not notes.searching:
        notes.options[aspect] = options
        return
    notes.shortlist[aspect] = options
    notes.searched.setdefault(aspect, set()).update(notes.searching)


@lru_cache(maxsize=4096)
def _read_wishes(text: str) -> tuple[tuple[str, str, str], ...]:
    return tuple(wish for statement, wish in VOICED.items() if statement in text)


@lru_cache(maxsize=4096)
def _read_listing(text: str) -> tuple[str, tuple[Option, ...]] | None:
    match = _LISTING.match(text)
    if match is None:
        return None
    aspect = match.group(1).replace(" ", "_")
    options = []
    for row in _ROW.split(match.group(2)):
        words = [word for word in _WORD.findall(row) if (aspect, word) in _TOPIC_OF_VALUE]
        cost = _COST.search(row)
        options.append(
            Option(
                id=named_options(row)[0],
                cost=int(cost.group()) if cost else None,
                properties={_TOPIC_OF_VALUE[aspect, word]: word for word in words},
            )
        )
    return aspect, tuple(options)


@dataclass(frozen=True)
class Scripted:
    """An agent that takes one aspect after the other: ask, search, choose.

    Where every aspect has its usual topics it asks at once and narrows the search by each wish;
    else it reads the whole list first, for the topics that it may ask about.
    """

    max_steps: int
    compact: bool
    asks: Callable[[str, str], bool]
    """Whether this agent bothers to ask about a topic of an aspect."""
    picks_first: bool = False
    """True for an agent that chooses whatever stands first."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return the next message; see `trainer.worlds.player.Player`."""
        notes = read_notes(turns)
        pending = [aspect for aspect in notes.aspects if aspect not in notes.chosen]
        if not pending:
            return "[finish]"
        aspect = pending[0]
        name = aspect.replace("_", " ")
        narrow = self.compact and not notes.counted
        if narrow:
            wishes = notes.wishes.get(aspect, {}).values()
            fresh = [value for value in wishes if value not in notes.searched.get(aspect, ())]
            if fresh:
                return f"[search] {name} {fresh[0]}"
        elif aspect not in notes.options:
            return f"[search] {name}"
        topic = self._next_question(notes, aspect, len(pending))
        if topic is not None:
            return f"[action] {self._question(aspect, topic)}"
        if aspect not in notes.options and aspect not in notes.shortlist:
            return f"[search] {name}"
        return f"[answer] {self._choose(notes, aspect).id}"

    def _choose(self, notes: Notes, aspect: str) -> Option:
        options = notes.shortlist.get(aspect) or notes.options[aspect]
        if self.picks_first or aspect in notes.shortlist:
            return options[0]
        return cheapest_fit(options, notes.wishes.get(aspect, {}))

    def _next_question(self, notes: Notes, aspect: str, num_pending: int) -> str | None:
        """Return the topic to ask about, or None when it is time to choose.

        A search and a choice here, and both for each later aspect, must still fit in the limit;
        to ask again, so must three questions for each later aspect.
        """
        spare = self.max_steps - notes.num_moves - 2 * num_pending
        for topic in notes.open_topics(aspect):
            times = notes.asked[aspect, topic]
            reserve = 3 * (num_pending - 1) if times else 0
            if self.asks(aspect, topic) and times < _MAX_ASKS and spare > reserve:
                return topic
        return None

    def _question(self, aspect: str, topic: str) -> str:
        name = aspect.replace("_", " ")
        return f"{name} {topic}?" if self.compact else f"Which {topic} do you want for the {name}?"


def cheapest_fit(options: Sequence[Option], wishes: Mapping[str, str]) -> Option:
    """Return the cheapest option that has every wished value, or else most of them."""

    def rank(option: Option) -> tuple[int, bool, int]:
        misses = sum(option.properties.get(topic) != value for topic, value in wishes.items())
        return misses, option.cost is None, option.cost or 0

    return min(options, key=rank)


@dataclass(frozen=True)
class Idle:
    """An agent that never gets to the point."""

    def move(self, turns: Sequence[Turn]) -> str:
        """Return small talk."""
        return "[action] Hello."


def oracle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the expert: asks about everything, then chooses the cheapest that fits."""
    return _scripted(settings, lambda aspect, topic: True)


def idle(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that never chooses; its floor is 0 in every metric but `sum` too."""
    return Idle()


def lazy(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
    """Return the player that asks nothing and chooses what stands first."""
    return _scripted(settings, lambda aspect, topic: False, picks_first=True)


def hasty(skip: float) -> PlayerFactory:
    """Return a player of middling quality: it leaves questions out, and guesses well.

    Args:
        skip: Probability of leaving a question out, drawn from the seed for each topic after an
            aspect's first. In the small tier, who knows one wish of two is right half of the
            time, so an episode succeeds with probability about (1 - skip/2)**2: 0.36 at 0.8.
    """

    def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> Player:
        def asks(aspect: str, topic: str) -> bool:
            first = topic == next(iter(TOPICS[aspect]))
            return first or seeds.uniform(seed, "hasty", aspect, topic) >= skip

        return _scripted(settings, asks)

    return make


def _scripted(
    settings: Mapping[str, Any], asks: Callable[[str, str], bool], picks_first: bool = False
) -> Player:
    compact = settings.get("prompt_style") == "compact"
    return Scripted(int(settings.get("max_steps", 16)), compact, asks, picks_first)


PLAYERS: Mapping[str, PlayerFactory] = {
    "oracle": oracle,
    "idle": idle,
    "lazy": lazy,
    "hasty": hasty(HASTY_SKIP),
}
"""Scripted players by name."""
