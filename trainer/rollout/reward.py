"""Rewards: what a turn and an ending pay under the reward knobs in force.

The verifier's word is the task reward; shaping rules listen to the world's events. Each payment
is recorded by rule, so a record shows who paid what. This module knows nothing about tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainer.episode import RewardEvent

TASK_RULE = "task"
FLOOR_RULE = "floor"
CLIP_RULE = "turn_clip"


@dataclass(frozen=True)
class ShapingRule:
    """A named intermediate reward, paid when an event happens."""

    id: str
    event: str
    value: float
    once: bool = False
    """Pay at most once in an episode."""
    where: Mapping[str, Any] | None = None
    """Conditions that must all hold: `world`, `from_turn`, `until_turn` (agent turns from 0)."""


@dataclass(frozen=True)
class RewardScheme:
    """The reward knobs in force for one world."""

    rules: tuple[ShapingRule, ...] = ()
    task_weight: float = 1.0
    conversation_weight: float = 1.0
    turn_reward_clip: float | None = None
    malformed_floor: float = 0.0
    scale: float = 1.0
    """Multiplies every payment of this world."""


def scheme(knobs: Mapping[str, Any], *, scale: float) -> RewardScheme:
    """Return the scheme that the reward knobs, resolved for one world, describe."""
    rules = tuple(
        ShapingRule(
            id=rule["id"],
            event=rule["event"],
            value=float(rule["value"]),
            once=bool(rule.get("once", False)),
            where=rule.get("where"),
        )
        for rule in knobs["shaping"]
    )
    return RewardScheme(
        rules=rules,
        task_weight=float(knobs["task_weight"]),
        conversation_weight=float(knobs["conversation_weight"]),
        turn_reward_clip=knobs["turn_reward_clip"],
        malformed_floor=float(knobs["malformed_floor"]),
        scale=scale,
    )


def pay_turn(
    scheme: RewardScheme,
    *,
    world: str,
    turn: int,
    task_reward: float,
    events: Sequence[str],
    paid: frozenset[str],
) -> list[RewardEvent]:
    """Return the payments of one agent turn.

    Args:
        scheme: Reward knobs in force for the episode's world.
        world: Name of the world.
        turn: The agent turn that earned them.
        task_reward: What the verifier gave for this turn.
        events: The world's events of this turn.
        paid: Ids of rules that already paid in this episode.
    """
    payments: list[RewardEvent] = []
    shaping = 0.0
    now_paid = set(paid)
    for event in events:
        for rule in scheme.rules:
            if rule.event != event or not _holds(rule.where, world, turn):
                continue
            if rule.once and rule.id in now_paid:
                continue
            now_paid.add(rule.id)
            value = rule.value * scheme.conversation_weight * scheme.scale
            shaping += value
            payments.append(RewardEvent(rule.id, value, turn))
    if scheme.turn_reward_clip is not None:
        bound = scheme.turn_reward_clip * scheme.scale
        excess = shaping - max(-bound, min(bound, shaping))
        if excess:
            payments.append(RewardEvent(CLIP_RULE, -excess, turn))
    if task_reward:
        payments.append(
            RewardEvent(TASK_RULE, task_reward * scheme.task_weight * scheme.scale, turn)
        )
    return payments


def pay_end(
    scheme: RewardScheme, *, turn: int, task_reward: float, policy_fault: bool
) -> list[RewardEvent]:
    """Return the payments that belong to the ending: the verifier's rest, and the floor.

    A policy that broke the protocol gets the floor and nothing else for its ending.
    """
    if policy_fault:
        return [RewardEvent(FLOOR_RULE, scheme.malformed_floor * scheme.scale, turn)]
    value = task_reward * scheme.task_weight * scheme.scale
    return [RewardEvent(TASK_RULE, value, turn)] if value else []


def _holds(where: Mapping[str, Any] | None, world: str, turn: int) -> bool:
    if not where:
        return True
    return (
        where.get("world", world) == world
        and turn >= where.get("from_turn", 0)
        and turn <= where.get("until_turn", turn)
    )
