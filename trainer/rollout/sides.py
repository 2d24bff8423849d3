"""Sides: which groups of a step play under which values.

Anchors play under revision 0, whatever is in force; while a test splits the batch the other
groups are drawn to its two sides. The draw is a function of the run's seed and the step, so a
replayed step is split the same way. This module knows nothing about what the sides show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gate.contract.sides import Side
from gate.guard import Condition, KnobStatus
from trainer import seeds

# A share such as 1/3 times its groups need not be whole to the last bit.
_SLACK = 1e-9


def conditions(status: KnobStatus, anchor: Condition) -> dict[Side, Condition]:
    """Return what each side of a step plays under.

    Args:
        status: What is in force, and the test that splits the batch if one does.
        anchor: Revision 0.
    """
    in_force = Condition(status.knobs, status.revision, status.world_revision)
    found = {Side.IN_FORCE: in_force, Side.ANCHOR: anchor}
    if status.test is not None:
        found |= {Side.OLD: status.test.old, Side.NEW: status.test.new}
    return found


def draw(
    num_groups: int, *, step: int, seed: int, anchor_share: float, new_share: float | None = None
) -> tuple[Side, ...]:
    """Return the side of each group of a step.

    Over the steps from 1 the number of anchors keeps within one of its share, and within a step
    the sides of a test are as equal as the number of groups allows; where it does not come out
    even, a draw decides which side gets the odd group.

    Args:
        num_groups: Groups of the step, the same in every step of a run.
        step: Number of the step, from 1.
        seed: The run's seed.
        anchor_share: Share of the groups that are anchors, in [0, 1].
        new_share: Probability of the new side of a test; None while no test splits the batch.
    """
    sides = [Side.IN_FORCE] * num_groups
    by_chance = _shuffled(range(num_groups), step, seed, "anchor")
    num_anchors = _whole(step * num_groups * anchor_share) - _whole(
        (step - 1) * num_groups * anchor_share
    )
    for group in by_chance[:num_anchors]:
        sides[group] = Side.ANCHOR
    if new_share is not None:
        tested = _shuffled(sorted(by_chance[num_anchors:]), step, seed, "side")
        num_new = math.floor(len(tested) * new_share + seeds.uniform(seed, "odd", step))
        for place, group in enumerate(tested):
            sides[group] = Side.NEW if place < num_new else Side.OLD
    return tuple(sides)


def mixes(
    playing: Mapping[Side, Condition], usual: Mapping[str, float]
) -> dict[Side, Mapping[str, float]]:
    """Return the share of each world on each side: the knob's, or the recipe's where it is empty.

    Args:
        playing: What each side plays under.
        usual: The recipe's shares.
    """
    asked = {
        side: dict(condition.knobs.get("environment.task_mix") or {})
        for side, condition in playing.items()
    }
    return {side: mix if any(mix.values()) else usual for side, mix in asked.items()}


def _whole(groups: float) -> int:
    return math.floor(groups + _SLACK)


def _shuffled(groups: Sequence[int], step: int, seed: int, purpose: str) -> list[int]:
    return sorted(groups, key=lambda group: seeds.derive(seed, purpose, step, group))
