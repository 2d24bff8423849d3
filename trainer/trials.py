"""Trials of the same tasks: how reliably a policy solves what it can solve.

Two conventions are in use under the name "pass^k", and they grow apart with k. `pass_hat` falls
with k: the chance that all of k trials succeed, as tau-bench defines it. `pass_at` rises with k:
the chance that any of k does, which one published script also prints as pass^k. Both are told,
each under its own name. This module knows episodes by their task and verdict alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from trainer.episode import Episode, Outcome

SUCCESS_SLACK = 1e-6
"""A verdict this close below 1 is a success, as in tau2."""


@dataclass(frozen=True)
class Reliability:
    """What `k` trials of a task are worth, averaged over tasks."""

    k: int
    pass_hat: float
    """Chance that all of k trials succeed, in [0, 1]; pass^k."""
    pass_at: float
    """Chance that at least one of k trials succeeds, in [0, 1]; pass@k."""
    num_tasks: int
    """Tasks with at least k finished trials; the averages are over these."""


def pass_hat(n: int, c: int, k: int) -> float:
    """Return the unbiased estimate of the chance that all of k trials succeed.

    Args:
        n: Trials of the task, at least k.
        c: How many of them succeeded, in [0, n].
        k: Trials that must all succeed, at least 1.

    Raises:
        ValueError: if the counts do not fit together.

    Source:
        tau-bench (Yao et al. 2024): C(c, k) / C(n, k), the share of the k-subsets of the trials
        in which all succeed. The plug-in (c/n)^k is biased upwards and is not used.
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def pass_at(n: int, c: int, k: int) -> float:
    """Return the unbiased estimate of the chance that at least one of k trials succeeds.

    Args:
        n: Trials of the task, at least k.
        c: How many of them succeeded, in [0, n].
        k: Trials of which one must succeed, at least 1.

    Raises:
        ValueError: if the counts do not fit together.

    Source:
        Chen et al. 2021 (HumanEval): 1 - C(n - c, k) / C(n, k).
    """
    _check(n, c, k)
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def reliability(episodes: Iterable[Episode], *, trials: int) -> tuple[Reliability, ...]:
    """Return both estimates for k = 1 to `trials`, averaged over tasks.

    A quarantined episode says nothing about the policy, so it is no trial: a task that lost
    trials counts only up to the k that it has. No value is told for a k that no task has.

    Args:
        episodes: The trials of all tasks, in any order.
        trials: How often each task was to be played.
    """
    counts = _counts(episodes).values()
    found = []
    for k in range(1, trials + 1):
        usable = [(n, c) for n, c in counts if n >= k]
        if usable:
            found.append(
                Reliability(
                    k=k,
                    pass_hat=_mean(pass_hat(n, c, k) for n, c in usable),
                    pass_at=_mean(pass_at(n, c, k) for n, c in usable),
                    num_tasks=len(usable),
                )
            )
    return tuple(found)


def _counts(episodes: Iterable[Episode]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return finished and successful trials by world and task."""
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for episode in episodes:
        if episode.stop.outcome is not Outcome.FINISHED or episode.success is None:
            continue
        key = (episode.world, episode.task_id)
        n, c = counts.get(key, (0, 0))
        counts[key] = (n + 1, c + (episode.success >= 1.0 - SUCCESS_SLACK))
    return counts


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"n={n} trials, c={c} successes, k={k}: need 0 <= c <= n and 1 <= k <= n")


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(math.fsum(found) / len(found), 6)
