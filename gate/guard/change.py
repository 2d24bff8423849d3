"""Changes: what a revision moves, and the run in which that is tested.

Derived from the ledger and from what was played; nothing here decides how a change is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gate.contract import knobs, launch_record
from gate.contract.knobs import KnobChange, Knobs, KnobSpec, Scope
from gate.contract.ledger import Revision, RevisionKind
from gate.contract.paths import RunPaths
from gate.effects.series import Point
from gate.guard.history import History


@dataclass(frozen=True)
class Change:
    """What is to be tested, whether it is in force already or only proposed."""

    old_revision: int
    old: Knobs
    new: Knobs
    changes: tuple[KnobChange, ...]
    moves_worlds: bool = False
    proposal: Mapping[str, Any] | None = None
    """What the ledger keeps of the proposal; None for one that came by another door."""

    @property
    def moved(self) -> tuple[tuple[KnobSpec, Any, Any], ...]:
        """The knobs that move and are meant to move success, each with both values."""
        found: list[tuple[KnobSpec, Any, Any]] = []
        for change in self.changes:
            spec = knobs.specs().get(change.knob)
            if spec is None or spec.distal == "none":
                continue
            old, new = (state.get(spec.path, change.world) for state in (self.old, self.new))
            if old != new:
                found.append((spec, old, new))
        return tuple(found)

    @property
    def matters(self) -> bool:
        """Whether it is meant to move success at all."""
        return self.moves_worlds or bool(self.moved)

    @property
    def acts_on_episodes(self) -> bool:
        """Whether it changes how episodes are played, and not only how they are learnt from."""
        return self.moves_worlds or any(s.scope is not Scope.LEARNER for s, _, _ in self.moved)

    @property
    def acts_on_learning(self) -> bool:
        """Whether it changes how episodes are learnt from."""
        return any(spec.scope is Scope.LEARNER for spec, _, _ in self.moved)

    @property
    def lag(self) -> int:
        """Steps until an effect can be expected."""
        return max((spec.lag_steps for spec, _, _ in self.moved), default=0)


@dataclass(frozen=True)
class Setting:
    """The run that a change is tested in, at the step of its opening."""

    points: Sequence[Point]
    """What was played, oldest first."""
    undisturbed: Sequence[Point]
    """The newest of them, back to the last change that was meant to move success."""
    step: int
    """The first step of the test."""
    remaining: int | None
    """Steps that are left, this one included; None if nobody knows."""
    groups: int | None
    """Groups of episodes in a step; None if nobody knows."""

    @property
    def batch(self) -> int:
        """Groups in a step by the launch record, else episodes by the records; 0 if none tells."""
        episodes = [sum(arm.episodes for arm in point.arms.values()) for point in self.points]
        return self.groups or max(episodes, default=0)


def change_of(past: History, revision: Revision) -> Change:
    """Return what a revision in force changed."""
    return Change(
        old_revision=revision.base,
        old=past.knobs_by_revision[revision.base],
        new=past.knobs_by_revision[revision.number],
        changes=revision.changes,
        moves_worlds=revision.world != past.world(revision.base),
        proposal=revision.details.get("proposal"),
    )


def setting_of(run: RunPaths, past: History, points: Sequence[Point], *, step: int) -> Setting:
    """Return the run as a test that opens at a step finds it.

    Args:
        run: The run.
        past: Its ledger.
        points: What was played, oldest first.
        step: The training step about to begin.
    """
    sizes = launch_record.sizes(run.root)
    total = past.knobs_by_revision[past.newest].get("agent.total_steps") or sizes.total_steps
    return Setting(
        points=points,
        undisturbed=undisturbed(past, points, before=step),
        step=step,
        remaining=None if total is None else max(total - step + 1, 0),
        groups=sizes.groups,
    )


def undisturbed(past: History, points: Sequence[Point], *, before: int) -> tuple[Point, ...]:
    """Return the newest steps in which nothing was changed that is meant to move success."""
    moments = [one.step for one in past.revisions if one.number and change_of(past, one).matters]
    last = max((moment for moment in moments if moment < before), default=0)
    return tuple(point for point in points if last <= point.step < before)


def is_tested(past: History, revision: Revision) -> bool:
    """Return whether a revision is of a kind whose effect is asked for."""
    not_asked = (RevisionKind.LAUNCH, RevisionKind.PLANTED, RevisionKind.REVERT)
    return revision.kind not in not_asked and change_of(past, revision).matters
