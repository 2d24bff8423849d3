"""Shares: which episodes of a step each process plays, and how the parts become one rollout.

Whole groups are dealt out in turn, and the result stands in the order in which the episodes were
dealt, so what follows does not depend on who played what. This module knows nothing about how
processes talk to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from trainer.rollout.collect import Rollout
from trainer.rollout.schedule import Assignment
from trainer.rollout.sitting import Judging


def share(assignments: Sequence[Assignment], *, rank: int, size: int) -> tuple[Assignment, ...]:
    """Return the episodes that one process plays, in their order.

    Args:
        assignments: The episodes of one step.
        rank: The process, counted from 0.
        size: How many there are; with fewer groups some play nothing.
    """
    groups = dict.fromkeys(one.group_id for one in assignments)
    mine = set(list(groups)[rank::size])
    return tuple(one for one in assignments if one.group_id in mine)


def merge(assignments: Sequence[Assignment], parts: Sequence[Rollout]) -> Rollout:
    """Return the parts of all processes as one rollout, in the order of the assignments.

    Durations are those of the slowest process, since all play at the same time.

    Args:
        assignments: The episodes of the step, each played by one process.
        parts: What each process played, this one first.

    Raises:
        ValueError: naming an episode that nobody played.
    """
    episodes = {one.id: one for part in parts for one in part.episodes}
    trajectories = {one.episode_id: one for part in parts for one in part.trajectories}
    num_tokens = {name: count for part in parts for name, count in part.num_tokens.items()}
    unscored = {name: reason for part in parts for name, reason in part.unscored.items()}
    order = [one.episode_id for one in assignments]
    for name in order:
        if name not in episodes:
            raise ValueError(f"no process played episode {name}; the ranks do not fit together")
    spent = {name for part in parts for name in part.timings}
    return Rollout(
        episodes=tuple(episodes[name] for name in order),
        trajectories=tuple(trajectories[name] for name in order if name in trajectories),
        num_tokens={name: num_tokens[name] for name in order},
        timings={
            name: max(part.timings.get(name, 0.0) for part in parts) for name in sorted(spent)
        },
        unscored={name: unscored[name] for name in order if name in unscored},
        judging=reduce(Judging.plus, (part.judging for part in parts)),
    )
