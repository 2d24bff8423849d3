"""The intention verifier: what a question is worth, and how much of a request is clarified.

A turn pays for the details that the user's reply to it disclosed for the first time. `rejudge`
recomputes everything from a recorded dialogue's disclosed ids. Deterministic; knows nothing about
prompts, shaping or user engines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.episode import Speaker, Turn
from trainer.task import Task
from trainer.worlds.seam import Verdict

SLACK = 1e-9
"""Sums of rewards are compared with this much tolerance."""

BASE_REWARDS: Mapping[int, float] = {3: 1.0, 2: 0.7, 1: 0.4}
"""What covering one detail pays, by its importance."""
EXTRA_DETAIL_COST = 0.2


@dataclass(frozen=True)
class IntentionState:
    """What has been clarified so far."""

    covered: frozenset[str] = frozenset()
    """Ids of the details that replies disclosed."""
    turn_rewards: tuple[float, ...] = ()
    """Exact reward of every reply that covered something, in order."""

    def hear(self, task: Task, revealed: Sequence[str]) -> IntentionState:
        """Return the state after one reply of the user; unknown ids are ignored."""
        importances = importance_by_id(task)
        new = (importances.keys() & set(revealed)) - self.covered
        if not new:
            return self
        reward = turn_reward([importances[name] for name in new])
        return IntentionState(self.covered | new, (*self.turn_rewards, reward))


def importance_by_id(task: Task) -> dict[str, int]:
    """Return the importance (1, 2 or 3) of every missing detail, by fact id."""
    return {detail["id"]: detail["importance"] for detail in task.payload["missing_details"]}


def turn_reward(importances: Sequence[int]) -> float:
    """Return the exact reward of a turn that covered these details for the first time.

    Args:
        importances: One number in 1..3 for each newly covered detail; may be empty.

    Returns:
        The base reward of the most important one, less 0.2 for each further one, in [0, 1].

    Source:
        UserRL, IntentionGym.
    """
    if not importances:
        return 0.0
    reward = BASE_REWARDS[max(importances)] - EXTRA_DETAIL_COST * (len(importances) - 1)
    # 0.4 - 2 * 0.2 is a rounding error away from zero; it must be none of either sign.
    return 0.0 if reward < SLACK else reward


def best_sum(task: Task) -> float:
    """Return the largest sum of turn rewards: one question for each detail."""
    return sum(BASE_REWARDS[importance] for importance in importance_by_id(task).values())


def paid(task: Task, reward: float) -> float:
    """Return an exact reward as a share of the task's best sum, so that a total is in [0, 1]."""
    return reward / best_sum(task)


def verdict(task: Task, state: IntentionState) -> Verdict:
    """Judge a state; nothing is left to be paid, since each reply paid when it was heard."""
    exact = sum(state.turn_rewards)
    coverage = len(state.covered) / len(task.payload["missing_details"])
    return Verdict(
        success=coverage,
        reward=0.0,
        metrics={
            "coverage": coverage,
            "sum": exact,
            "sum_share": exact / best_sum(task),
            "turns_with_coverage": float(len(state.turn_rewards)),
        },
    )


def rejudge(
    task: Task, turns: Sequence[Turn], settings: Mapping[str, Any] | None = None
) -> Verdict:
    """Judge a recorded dialogue from the ids that the user's turns disclosed, alone."""
    state = IntentionState()
    for turn in turns:
        if turn.speaker is Speaker.USER:
            state = state.hear(task, turn.revealed)
    return verdict(task, state)
