"""From step records to the series that estimates take.

Takes lines of `steps.jsonl` as they were parsed. Success is reported per arm, who was drawn to
play the user, and arms count equally: a different mix of users then looks like what it is, no
effect. Success by the pinned verifier is used wherever a record has it, since the one in force may
be what was changed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from gate.contract.sides import Side
from gate.effects.tripwires import Vitals

MOST_STEPS = 0.8
"""Share of the steps on both sides of a change that an arm must have played in to be compared."""


class Share(NamedTuple):
    """Mean success over some episodes."""

    success: float
    """In [0, 1]."""
    episodes: int
    """At least 1."""


Arms = Mapping[str, Share]
"""Success by who was drawn to play the user."""


@dataclass(frozen=True)
class Point:
    """What one training step showed, as far as effects are concerned."""

    step: int
    revision: int
    arms: Arms
    """Episodes that count, by arm."""
    sides: Mapping[Side, Arms]
    """The same by side of a concurrent test; empty while none is open."""
    anchors: Share | None
    """Episodes under revision 0 of world and user."""
    vitals: Vitals
    measures: Mapping[str, float]
    """Every number of the record by its path, as `learner.entropy`."""


class Value(NamedTuple):
    """One number of a series."""

    step: int
    value: float


def points(records: Iterable[Mapping[str, Any]]) -> tuple[Point, ...]:
    """Return what the steps of a run showed, in their order.

    Args:
        records: Step records in the order of the file. A step that was recorded twice, as after
            a resume, counts as it was recorded last.
    """
    by_step = {record["step"]: record for record in records}
    return tuple(_point(by_step[step]) for step in sorted(by_step))


def within(series: Sequence[Point], steps: range) -> tuple[Point, ...]:
    """Return the points of a range of training steps."""
    return tuple(point for point in series if point.step in steps)


def under_revision(series: Sequence[Point], revision: int) -> tuple[Point, ...]:
    """Return the points of the steps that ran under one revision."""
    return tuple(point for point in series if point.revision == revision)


def comparable_arms(before: Sequence[Point], after: Sequence[Point]) -> tuple[str, ...]:
    """Return the arms that played regularly both before and after a change.

    Raises:
        ValueError: if there is none: the two sides have no users in common.
    """
    shared = _regular(before) & _regular(after)
    if not shared:
        raise ValueError(
            f"no arm played in {MOST_STEPS:.0%} of the steps both before "
            f"({', '.join(sorted(_regular(before))) or 'none'}) and after "
            f"({', '.join(sorted(_regular(after))) or 'none'}); compare under one mix of users"
        )
    return tuple(sorted(shared))


def success(series: Sequence[Point], arms: Sequence[str]) -> tuple[Value, ...]:
    """Return the success of each step, every arm counting equally.

    Steps in which one of the arms did not play are left out.
    """
    return tuple(
        Value(point.step, statistics.fmean(point.arms[arm].success for arm in arms))
        for point in series
        if all(arm in point.arms for arm in arms)
    )


def differences(series: Sequence[Point]) -> tuple[Value, ...]:
    """Return new minus old of each step of a concurrent test.

    Within a step the arms that played on both sides count equally; a step in which none did is
    left out.
    """
    found: list[Value] = []
    for point in series:
        old, new = (point.sides.get(side, {}) for side in (Side.OLD, Side.NEW))
        shared = sorted(old.keys() & new.keys())
        if shared:
            gap = statistics.fmean(new[arm].success - old[arm].success for arm in shared)
            found.append(Value(point.step, gap))
    return tuple(found)


def anchor_success(series: Sequence[Point]) -> tuple[Value, ...]:
    """Return the success of the anchors of each step that had any."""
    return tuple(
        Value(point.step, point.anchors.success) for point in series if point.anchors is not None
    )


def measure(series: Sequence[Point], path: str) -> tuple[Value, ...]:
    """Return one number of the step records, for every step that has it.

    Args:
        series: The steps.
        path: Where it stands in a record, as `learner.entropy`.
    """
    return tuple(
        Value(point.step, point.measures[path]) for point in series if path in point.measures
    )


def paired(new: Sequence[Value], old: Sequence[Value]) -> tuple[Value, ...]:
    """Return new minus old for every step that two runs have in common."""
    before = dict(old)
    return tuple(Value(step, value - before[step]) for step, value in new if step in before)


def numbers(series: Iterable[Value]) -> tuple[float, ...]:
    """Return the numbers of a series without their steps."""
    return tuple(value for _, value in series)


def _regular(series: Sequence[Point]) -> set[str]:
    seen = [arm for point in series for arm in point.arms]
    return {arm for arm in set(seen) if seen.count(arm) >= MOST_STEPS * len(series)}


def _point(record: Mapping[str, Any]) -> Point:
    success_by_arm: Mapping[str, Any] = record.get("pinned_success_by_arm") or {}
    # Records may be older than pinned verdicts; an edited verifier's own word never counts.
    if not success_by_arm and not record.get("world_revision"):
        success_by_arm = record.get("success_by_arm") or {}
    episodes: Mapping[str, Any] = record.get("episodes_by_arm") or {}
    sides: Mapping[str, Mapping[str, Mapping[str, Any]]] = record.get("sides") or {}
    return Point(
        step=record["step"],
        revision=record.get("revision", 0),
        arms=_arms((arm, value, episodes.get(arm, 0)) for arm, value in success_by_arm.items()),
        sides={
            Side(side): _arms((arm, part["success"], part["episodes"]) for arm, part in by.items())
            for side, by in sides.items()
        },
        anchors=_share(record.get("anchor_success"), record.get("anchor_episodes", 0)),
        vitals=Vitals(
            record["step"],
            _numbers(record.get("learner") or {}),
            _deadlock(record.get("metrics") or {}),
            _quarantined(record),
        ),
        measures=_measures(record),
    )


def _arms(parts: Iterable[tuple[str, Any, int]]) -> Arms:
    found = ((arm, _share(value, episodes)) for arm, value, episodes in parts)
    return {arm: share for arm, share in found if share is not None}


def _share(value: float | None, episodes: int) -> Share | None:
    if value is None or not math.isfinite(value) or episodes < 1:
        return None
    return Share(value, episodes)


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return what is a number; null stands where there is none to tell."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _measures(record: Mapping[str, Any]) -> dict[str, float]:
    found = _numbers(record)
    for name, part in record.items():
        if isinstance(part, dict):
            inner = _numbers(cast("dict[str, Any]", part))
            found.update({f"{name}.{key}": value for key, value in inner.items()})
    return {path: value for path, value in found.items() if math.isfinite(value)}


def _quarantined(record: Mapping[str, Any]) -> float | None:
    """Return the share of the step's episodes that the infrastructure spoiled."""
    started, quarantined = record.get("started"), record.get("quarantined")
    return quarantined / started if started and quarantined is not None else None


def _deadlock(metrics: Mapping[str, float]) -> float | None:
    """Return the worst share of stalled episodes that a world tells."""
    told = [value for name, value in metrics.items() if name.endswith(".deadlock")]
    return max(told, default=None)
