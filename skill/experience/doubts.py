"""Doubts: what speaks against leaning on a lesson today.

A lesson grows stale when it is old, when it was superseded, or when it speaks of knobs or worlds
that are no longer there; two lessons contradict each other when one scope holds both and their
verdicts point in different directions. Doubts are warnings: no lesson is hidden because of one.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Collection

from gate.contract import knobs
from skill import fence
from skill.experience.lesson import Lesson, Status
from skill.experience.pool import Pool

OLD_DAYS = 180
ANY = "any"


def doubts(
    one: Lesson, pool: Pool, *, today: datetime.date, worlds: Collection[str] = ()
) -> list[str]:
    """Return what speaks against a lesson, a sentence each.

    Args:
        one: A lesson of the pool.
        pool: All of them.
        today: The day.
        worlds: The worlds there are; empty when that is not known.
    """
    found: list[str] = []
    successor = pool.superseded().get(one.id)
    if successor is not None:
        found.append(f"superseded by lesson {successor}: read that one")
    age = (today - one.recorded).days
    if age > OLD_DAYS:
        found.append(f"recorded {age} days ago: see whether it still holds")
    files = {f"{name}." for name in knobs.FILES}
    gone = [
        name for name in one.knobs if name.startswith(tuple(files)) and name not in knobs.specs()
    ]
    if gone:
        found.append(
            f"speaks of knobs that are no longer declared: {', '.join(map(fence.name, gone))}"
        )
    if worlds and one.world not in (ANY, *worlds):
        found.append(f"learnt in the world {fence.name(one.world)}, which is not here")
    for other in pool.standing():
        if other.id != one.id and contradict(one, other):
            found.append(f"lesson {other.id} says the opposite in the same scope: test before use")
    return found


def contradictions(pool: Pool) -> list[tuple[Lesson, Lesson]]:
    """Return every pair of standing lessons that contradict each other."""
    return [
        (first, second)
        for first, second in itertools.combinations(pool.standing(), 2)
        if contradict(first, second)
    ]


def contradict(first: Lesson, second: Lesson) -> bool:
    """True when two lessons about one knob and one scope point in different directions.

    Effects are compared where both have one, otherwise a support with a refutation; a conjecture
    contradicts nobody, and what was retracted says nothing.
    """
    if not set(first.knobs) & set(second.knobs) or Status.RETRACTED in (
        first.status,
        second.status,
    ):
        return False
    same_world = first.world == second.world or ANY in (first.world, second.world)
    same_policy = first.policy == second.policy or ANY in (first.policy, second.policy)
    if not (same_world and same_policy):
        return False
    if first.effect is not None and second.effect is not None:
        return first.effect * second.effect < 0.0
    return {first.status, second.status} == {Status.SUPPORTED, Status.REFUTED}
