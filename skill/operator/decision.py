"""Decisions: what the operator does about a run now, from its records alone and the same each time.

It holds while anything is open, follows the first symptom, takes back what turned a knob of its
moves the wrong way or else tries the moves in order, and does not repeat what was judged or what a
lesson speaks against. Nothing here writes or asks anybody.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gate.contract.ledger import Revision
from skill import standing
from skill.diagnosis import signals
from skill.diagnosis.detectors.fell_with_revision import change_of, worst_change
from skill.diagnosis.symptoms import Symptom
from skill.diagnosis.windows import Window
from skill.experience.lesson import Status
from skill.experience.pool import Pool
from skill.operator.playbook import PLAYBOOK, Move, Play, Turn
from skill.operator.suspicion import turned_against
from skill.standing import Standing, State

LATELY = 5
"""Steps over which payments by rule are averaged."""

_SPENT = (State.JUDGED, State.TAKEN_BACK, State.REFUSED)


class Act(StrEnum):
    """What the operator does."""

    HOLD = "hold"
    """Something is open: change nothing."""
    LEAVE = "leave"
    """Nothing is wrong, or nothing that a knob mends."""
    PROPOSE = "propose"


@dataclass(frozen=True)
class Option:
    """One move with the values it would make."""

    knob: str
    """Empty where a revision is taken back."""
    old: Any = None
    new: Any = None
    move: Move | None = None
    """None where a revision is taken back."""
    takes_back: int | None = None
    """The revision that it takes back, and nothing else."""
    expected: float = 0.05
    """The rise of success that would prove it right, where a revision is taken back."""


@dataclass(frozen=True)
class Decision:
    """What to do, and why."""

    act: Act
    because: str
    symptom: Symptom | None = None
    options: tuple[Option, ...] = ()
    """To be tried in order until the gate lets one pass."""


def decide(
    window: Window,
    symptoms: Sequence[Symptom],
    found: Sequence[Standing],
    pool: Pool,
    *,
    revisions: Sequence[Revision],
    resting: frozenset[str],
) -> Decision:
    """Return what to do about a run.

    Args:
        window: The run, as read.
        symptoms: What the detectors found, the one to follow first first.
        found: What became of earlier proposals.
        pool: The lessons of earlier runs.
        revisions: Everything that came into force in this one, in its order.
        resting: Knobs that were written too lately.
    """
    for one in standing.open_ones(found):
        until = "" if one.window_ends is None else f" until step {one.window_ends}"
        return Decision(Act.HOLD, f"proposal {one.number} is {one.state.value}{until}")
    if not symptoms:
        return Decision(Act.LEAVE, "no symptom: leave it alone")
    symptom = symptoms[0]
    play = PLAYBOOK.get(symptom.name)
    if play is not None and play.takes_back:
        return _take_back(window, symptom)
    if play is None or not play.moves:
        why = "the playbook does not know it" if play is None else play.leave
        return Decision(Act.LEAVE, f"{symptom.name}: {why}", symptom)
    values = _values(window, play)
    options: list[Option] = []
    reasons: list[str] = []
    for move, old, new in values:
        resting_now = "written lately" if move.knob in resting else ""
        against = resting_now or _against(move, old, new, found, pool, window)
        if against:
            reasons.append(f"{move.knob}: {against}")
        else:
            options.append(Option(move.knob, old, new, move))
    because = f"{symptom.name}: {symptom.sentence}"
    for move, old, new in values:
        # That a knob was written lately is no reason to leave it where it does harm.
        revision = turned_against(move, old, new, revisions, found)
        if revision is not None and not _against(move, old, new, found, pool, window):
            options.insert(0, _putting_back(window, revision))
            because += f" {_turned(revision, move)}"
            break
    if not options:
        return Decision(Act.LEAVE, f"{symptom.name}: {'; '.join(reasons)}", symptom)
    return Decision(Act.PROPOSE, because, symptom, tuple(options))


def _values(window: Window, play: Play) -> list[tuple[Move, Any, Any]]:
    """Return every move of a play with the value in force and the one that it would make."""
    paid = _paid(window)
    olds = [(move, window.knob(move.knob)) for move in play.moves]
    return [(move, old, move.value(old, paid)) for move, old in olds]


def _take_back(window: Window, symptom: Symptom) -> Decision:
    """Return the proposal to take back what success fell with; whether that helps is tested."""
    change = worst_change(window)
    if change is None:
        return Decision(Act.LEAVE, f"{symptom.name}: the revision is out of sight", symptom)
    option = Option("", takes_back=change.revision, expected=_hope(change.fall))
    return Decision(Act.PROPOSE, f"{symptom.name}: {symptom.sentence}", symptom, (option,))


def _putting_back(window: Window, revision: Revision) -> Option:
    change = change_of(window, revision.number)
    hope = _hope(0.0 if change is None else change.fall)
    return Option("", takes_back=revision.number, expected=hope)


def _hope(fall: float) -> float:
    """Return half of what was lost: modest, and a test of it is over sooner than one of .05."""
    return max(round(fall / 2, 2), 0.05)


def _turned(revision: Revision, move: Move) -> str:
    change = next(one for one in revision.changes if one.path == move.knob)
    return (
        f"Revision {revision.number} ({revision.kind.value}) turned {move.knob} the wrong way at "
        f"step {revision.step}, from {json.dumps(change.old)} to {json.dumps(change.new)}."
    )


def _against(
    move: Move,
    old: Any,
    new: Any,
    found: Sequence[Standing],
    pool: Pool,
    window: Window,
) -> str:
    """Return what speaks against a move; empty for nothing."""
    if new == old:
        return "no room, or not known"
    for one in found:
        pair = one.changes.get(move.knob)
        if pair is None or one.state not in _SPENT:
            continue
        helped = one.told is not None and one.told.verdict == "help"
        if not helped and _same_way(move, pair, (old, new)):
            return f"proposal {one.number} tried it ({one.state.value})"
    worlds = {str(record.get("world")) for record in window.episodes[-32:]} | {"any"}
    for lesson in pool.standing():
        stands_against = lesson.status is Status.REFUTED or (
            lesson.effect is not None and lesson.effect < 0
        )
        if stands_against and move.knob in lesson.knobs and lesson.world in worlds:
            return f"lesson {lesson.id} speaks against it"
    return ""


def _same_way(move: Move, tried: tuple[Any, Any], wanted: tuple[Any, Any]) -> bool:
    if move.turn is Turn.WEAKEN:
        return tried[1] == wanted[1]
    numbers = [*tried, *wanted]
    if not all(isinstance(one, int | float) for one in numbers):
        return True
    return (tried[1] > tried[0]) == (wanted[1] > wanted[0])


def _paid(window: Window) -> Mapping[str, float]:
    """Return the mean payment by rule over the newest steps."""
    lately = window.steps[-LATELY:]
    rules = {
        rule
        for record in lately
        if isinstance(record.get("reward_by_rule"), dict)
        for rule in record["reward_by_rule"]
    }
    return {
        rule: signals.mean(signals.values([r["reward_by_rule"] for r in lately], rule)) or 0.0
        for rule in rules
    }
