"""Cues: how closely a question matches each hidden fact of a task, as a number in [0, 1].

Token overlap, weighted so that words shared by many facts or already said in the opening count
little: "which hotel?" selects nothing, "which room?" selects the room. No chance, no model and
no state; whether a matched fact may be told is not known here.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rapidfuzz import fuzz, process

from trainer.task import Fact, Task

OPENING_WEIGHT = 0.25
"""Weight of a word that the user's opening already says, relative to a new one."""
UNKNOWN_WEIGHT = 0.5
"""Weight of a word of the question that no fact of the task knows."""
OTHER_TOPIC_FACTOR = 0.5
"""What remains of a match when the question names another topic than the fact's own."""
TYPO_RATIO = 85.0
"""Similarity in percent from which an unknown word counts as a misspelt cue."""
MIN_TYPO_CHARS = 5
MAX_TABLES = 4096
_MAX_TYPOS = 10_000

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SMALL_WORDS = """
    a about also am an and any anything are as at be been but by can could detail did do does
    else for from get give had has have help here hi how i i'd i'll i'm if in information is it
    it's just know let like looking may me might more most much my need no not of on one or
    other our please prefer preference preferred say shall should so some something specific
    tell than thank that the their them then there these they thing this those to type us want
    was we were what what's which why will with would yes you your
"""
_STOPWORDS = frozenset(_SMALL_WORDS.split())


class Match(NamedTuple):
    """One fact and how well the question fits it."""

    index: int
    """Position of the fact in its task."""
    score: float
    """In (0, 1]; what the knob `match_threshold` is compared with."""
    evidence: float
    """Total weight of the words that fit, which orders equal scores."""


def stem(word: str) -> str:
    """Return a word without its plural ending: the same cut for cues and questions."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def words_of(text: str) -> list[str]:
    """Return the words of a text, case folded, in order."""
    return _WORD.findall(text.casefold().replace("\u2019", "'"))


def content_words(words: Iterable[str], keep: Container[str] = ()) -> frozenset[str]:
    """Return the stems of the words that carry meaning, and of the words to keep."""
    stems = (stem(word.removesuffix("'s")) for word in words)
    return frozenset(word for word in stems if word not in _STOPWORDS or word in keep)


@dataclass(frozen=True)
class CueTable:
    """The cues of one task, indexed by word; built once, asked for every message."""

    num_facts: int
    cue_facts: tuple[int, ...]
    """Fact index of each cue."""
    cue_weights: tuple[float, ...]
    """Total word weight of each cue."""
    cues_by_word: dict[str, tuple[int, ...]]
    weights: dict[str, float]
    topics: tuple[frozenset[str], ...]
    """Words that name the topic of each fact; empty where its kind has no topic."""
    _typos: dict[str, str | None] = field(default_factory=dict, repr=False)

    def match(self, words: Sequence[str]) -> list[Match]:
        """Return every fact with a score above zero, best first.

        The score of a cue is the shared weight over the smaller of the two sides, where the
        question's side weighs at least one distinctive word; a fact takes its best cue.

        Args:
            words: The words of the question (see `words_of`).
        """
        # Sums of floats depend on their order, and the order of a set on the process.
        known = sorted({self._recognise(word) for word in content_words(words, self.weights)})
        shared: dict[int, float] = {}
        question_weight = 0.0
        for word in known:
            weight = self.weights.get(word, UNKNOWN_WEIGHT)
            question_weight += weight
            for cue in self.cues_by_word.get(word, ()):
                shared[cue] = shared.get(cue, 0.0) + weight
        if not shared:
            return []
        floor = max(question_weight, 1.0)
        named = [not topic.isdisjoint(known) for topic in self.topics]
        best: dict[int, Match] = {}
        for cue, weight in shared.items():
            fact = self.cue_facts[cue]
            score = min(1.0, weight / min(self.cue_weights[cue], floor))
            if any(named) and not named[fact]:
                score *= OTHER_TOPIC_FACTOR
            if fact not in best or (score, weight) > best[fact][1:]:
                best[fact] = Match(fact, score, weight)
        return sorted(best.values(), key=lambda m: (-m.score, -m.evidence, m.index))

    def _recognise(self, word: str) -> str:
        if word in self.weights or len(word) < MIN_TYPO_CHARS:
            return word
        if word not in self._typos:
            if len(self._typos) >= _MAX_TYPOS:
                self._typos.clear()
            found = process.extractOne(
                word,
                [cue for cue in self.weights if cue[0] == word[0] and len(cue) >= MIN_TYPO_CHARS],
                scorer=fuzz.ratio,
                score_cutoff=TYPO_RATIO,
            )
            self._typos[word] = found[0] if found else None
        # Another thread may have emptied it since.
        return self._typos.get(word) or word


def build_table(task: Task) -> CueTable:
    """Return the cue table of a task.

    A fact's cues are those it declares, the last part of its kind, and its own words, so that a
    right guess ("do you want a pool?") counts as the question it is.
    """
    sets = [_cue_sets(fact) for fact in task.facts]
    spread = Counter(word for cues in sets for word in sorted(frozenset[str]().union(*cues)))
    opening = content_words(words_of(task.opening))
    weights = {
        word: (OPENING_WEIGHT if word in opening else 1.0) / count for word, count in spread.items()
    }
    cue_facts: list[int] = []
    cue_weights: list[float] = []
    cues_by_word: dict[str, list[int]] = {}
    for index, cues in enumerate(sets):
        for cue in cues:
            for word in cue:
                cues_by_word.setdefault(word, []).append(len(cue_facts))
            cue_facts.append(index)
            cue_weights.append(sum(weights[word] for word in sorted(cue)))
    return CueTable(
        num_facts=len(task.facts),
        cue_facts=tuple(cue_facts),
        cue_weights=tuple(cue_weights),
        cues_by_word={word: tuple(cues) for word, cues in cues_by_word.items()},
        weights=weights,
        topics=tuple(_topic(fact.kind) for fact in task.facts),
    )


def _cue_sets(fact: Fact) -> list[frozenset[str]]:
    leaf = fact.kind.rpartition(".")[2].replace("_", " ").replace("-", " ")
    # A numbered kind, such as `detail.3`, is no word of a question.
    sources = (*fact.cues, "" if leaf.isdigit() else leaf, fact.text)
    cues = (_cue_words(source) for source in sources)
    return list(dict.fromkeys(cue for cue in cues if cue))


def _cue_words(source: str) -> frozenset[str]:
    words = words_of(source)
    # A cue such as "how much" has no content word; then its small words are the cue.
    return content_words(words) or frozenset(stem(word) for word in words)


def _topic(kind: str) -> frozenset[str]:
    topic, dot, _ = kind.partition(".")
    return (
        content_words(words_of(topic.replace("_", " ").replace("-", " "))) if dot else frozenset()
    )


class CueTables:
    """Cue tables of the tasks met last, so that a task pays for its table once in all threads."""

    def __init__(self, capacity: int = MAX_TABLES) -> None:
        """Keep at most `capacity` tables."""
        self._capacity = capacity
        self._tables: OrderedDict[tuple[str, str], tuple[Task, CueTable]] = OrderedDict()
        self._lock = threading.Lock()

    def table(self, task: Task) -> CueTable:
        """Return the task's table; a changed task under an old id gets a new one."""
        with self._lock:
            return self._table(task)

    def _table(self, task: Task) -> CueTable:
        key = (task.world, task.id)
        held = self._tables.get(key)
        if held is not None and _same_words(held[0], task):
            self._tables.move_to_end(key)
            return held[1]
        table = build_table(task)
        self._tables[key] = (task, table)
        self._tables.move_to_end(key)
        if len(self._tables) > self._capacity:
            self._tables.popitem(last=False)
        return table


def _same_words(one: Task, other: Task) -> bool:
    return one is other or (one.opening == other.opening and one.facts == other.facts)
