"""Solving the task pays, and pays more than everything on the way together.

Shaping is small change: if it could add up to the task reward within one episode, the policy
would learn to collect it instead. A penalty that outweighs the task is allowed but told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gate.contract import knobs
from gate.contract.findings import Finding, Severity
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="Solving the task pays more than all shaping of an episode together.",
    answers="LightRFT PR#53: the proxy rises while the true outcome falls.",
)

INPUTS = (
    "reward.shaping",
    "reward.turn_reward_clip",
    "reward.task_weight",
    "reward.conversation_weight",
    "environment.max_steps",
)
"""The knobs that decide how much an episode can pay."""

# Sums of decimal payments must reach a bound that they reach on paper.
_SLACK = 1e-9


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every world in which the task no longer pays most."""
    if not change_set.touches(*INPUTS):
        return
    values = change_set.new.values
    apart = {*values["reward"][knobs.WORLDS], *values["environment"][knobs.WORLDS]}
    for world in (None, *sorted(apart)):
        yield from _check_world(change_set, world)


def _check_world(change_set: ChangeSet, world: str | None) -> Iterator[Finding]:
    values = change_set.new
    task = values.get("reward.task_weight", world)
    conversation = values.get("reward.conversation_weight", world)
    where = "" if world is None else f" in {world}"
    if task == 0 and conversation == 0:
        yield change_set.finding(
            "reward-weights",
            "reward.task_weight",
            f"Every reward weight is 0{where}: nothing could be learnt.",
            "Give reward.task_weight a value above 0.",
            value=0,
        )
        return
    shaping = values.get("reward.shaping", world)
    steps = values.get("environment.max_steps", world)
    clip = values.get("reward.turn_reward_clip", world)
    for sign, severity in ((1, Severity.ERROR), (-1, Severity.WARNING)):
        total = conversation * most(shaping, sign=sign, max_steps=steps, clip=clip)
        if total > 0 and total >= task - _SLACK:
            what = "pay" if sign > 0 else "cost"
            yield change_set.finding(
                "reward-weights",
                "reward.shaping",
                f"Shaping can {what} {total:g} in an episode of {steps} steps{where}, and solving "
                f"the task pays {task:g}.",
                "Lower the values, let rules pay once, or raise reward.task_weight.",
                severity=severity,
                value=total,
                limit=task,
            )


def most(
    shaping: Sequence[Mapping[str, Any]], *, sign: int, max_steps: int, clip: float | None
) -> float:
    """Return how much shaping can add up to in one episode, before weights.

    Args:
        shaping: The shaping rules.
        sign: 1 for payments, -1 for penalties (returned as a positive amount).
        max_steps: The agent's turns in an episode.
        clip: Bound on one turn's reward; None for none.
    """
    total = 0.0
    for rule in shaping:
        once = max(0.0, sign * rule["value"])
        total += once if rule["once"] else once * max_steps
    return total if clip is None else min(total, clip * max_steps)
