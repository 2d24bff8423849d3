"""Paying a recorded episode again under another reward scheme, rule by rule.

Each turn's events are paid as they were when they happened; what the verifier paid is taken from
the record, its old weight divided out. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainer.episode import RewardEvent, StopReason, Turn
from trainer.rollout.reward import CLIP_RULE, TASK_RULE, RewardScheme, pay_end, pay_turn


def repay(
    turns: Sequence[Turn],
    paid: Iterable[RewardEvent],
    stop: StopReason,
    *,
    world: str,
    old: RewardScheme,
    new: RewardScheme,
) -> tuple[RewardEvent, ...]:
    """Return what a scheme pays for a recorded episode.

    Args:
        turns: The episode's turns, with the events that each caused.
        paid: What was paid at the time.
        stop: Why it ended.
        world: The episode's world.
        old: The scheme at the time.
        new: The scheme to pay by.
    """
    payments: list[RewardEvent] = []
    for turn in turns:
        if turn.events:
            payments += pay_turn(
                new,
                world=world,
                turn=turn.agent_turn,
                task_reward=0.0,
                events=turn.events,
                paid=frozenset(one.rule for one in payments if one.rule != CLIP_RULE),
            )
    weight = old.task_weight * old.scale
    last = max((turn.agent_turn for turn in turns), default=0)
    for one in paid:
        if one.rule == TASK_RULE and weight:
            earned = one.value / weight * new.task_weight * new.scale
            payments.append(RewardEvent(TASK_RULE, earned, one.turn))
    if stop.policy_fault:
        payments += pay_end(new, turn=last, task_reward=0.0, policy_fault=True)
    return tuple(payments)
