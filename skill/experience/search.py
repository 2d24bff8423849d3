"""Search: lessons that fit a scope and a meaning.

Scope comes first, since a lesson of another world is a guess; within it, words are compared
without regard to their order, so that a question need not use a lesson's own phrase. No network
and no model.
"""

from __future__ import annotations

from dataclasses import dataclass

from rapidfuzz import fuzz

from skill.experience.doubts import ANY
from skill.experience.lesson import Lesson, Status
from skill.experience.pool import Pool

LEAST_MEANING = 35.0
"""Likeness, in 0 to 100, below which a lesson is not about what was asked."""

_RANK = {Status.SUPPORTED: 6.0, Status.REFUTED: 6.0, Status.CONJECTURE: 0.0, Status.RETRACTED: -6.0}
_OTHER_SCOPE = 15.0
_SUPERSEDED = 25.0


@dataclass(frozen=True)
class Hit:
    """A lesson that may help."""

    lesson: Lesson
    points: float
    """Likeness of meaning in 0 to 100, less what its scope and status cost it."""
    in_scope: bool


def search(
    pool: Pool,
    question: str,
    *,
    world: str | None = None,
    policy: str | None = None,
    knob: str | None = None,
) -> list[Hit]:
    """Return lessons, the best first.

    Args:
        pool: Where to look.
        question: What is wanted, in words; empty for everything in scope.
        world: The world at hand, None for every one.
        policy: The policy at hand, None for every one.
        knob: Only lessons about this knob or recipe key.
    """
    gone = pool.superseded()
    hits: list[Hit] = []
    for one in pool.lessons:
        if knob is not None and knob not in one.knobs:
            continue
        meaning = likeness(question, one) if question.strip() else 100.0
        if meaning < LEAST_MEANING:
            continue
        in_scope = _fits(one.world, world) and _fits(one.policy, policy)
        points = meaning + _RANK[one.status]
        points -= 0.0 if in_scope else _OTHER_SCOPE
        points -= _SUPERSEDED if one.id in gone else 0.0
        hits.append(Hit(one, points, in_scope))
    return sorted(hits, key=lambda hit: (-hit.points, -hit.lesson.id))


def likeness(question: str, one: Lesson) -> float:
    """Return how much a lesson is about a question, in 0 to 100.

    Every word of the question looks for its nearest word in the lesson, so inflections and
    spelling cost little; words of the title and of names count in full, others a little less.
    """
    asked = [word for word in _words(question) if len(word) > 2]
    if not asked:
        return 0.0
    near = set(_words(" ".join((one.title, *one.knobs, one.world, one.policy))))
    far = set(_words(one.body)) - near
    return sum(max(_nearest(word, near), 0.9 * _nearest(word, far)) for word in asked) / len(asked)


def _nearest(word: str, words: set[str]) -> float:
    best = max((fuzz.ratio(word, other, score_cutoff=60.0) for other in words), default=0.0)
    # A likeness of 60 between two short words is chance, and one of 100 is certain.
    return max(0.0, (best - 60.0) * 2.5)


def _words(text: str) -> list[str]:
    cleaned = "".join(one if one.isalnum() else " " for one in text.lower())
    return cleaned.split()


def _fits(scope: str, wanted: str | None) -> bool:
    return wanted is None or scope in (ANY, wanted)
