"""Shaping pays for progress, once: never for failing, never again and again for one event.

How much shaping may pay in all is bounded by `gate.rules.reward_weights`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gate.contract import knobs
from gate.contract.findings import Finding
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="No shaping rule pays for a failing event, pays an event again without `once`, or "
    "pays what another rule pays already.",
    answers="ReZero#1: the reward rises on a bugged reward.",
)

SHAPING = "reward.shaping"

FAILING_ENDINGS = ("_failed", "_wrong", "_error", "_refused", "_repeated", "_unclear")
"""How the events of failing actions end."""

FAILING = frozenset({"malformed", "off_topic"})
"""Events of failing actions with names of their own."""


def is_failing(event: str) -> bool:
    """Return whether an event tells that an action failed."""
    return event in FAILING or event.endswith(FAILING_ENDINGS)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every rule that pays for what it must not."""
    if not change_set.touches(SHAPING):
        return
    values = change_set.new.values["reward"]
    yield from _check_rules(change_set, SHAPING, values["shaping"])
    for world, own in values[knobs.WORLDS].items():
        yield from _check_rules(
            change_set, f"reward.{knobs.WORLDS}.{world}.shaping", own.get("shaping", ())
        )


def _check_rules(
    change_set: ChangeSet, path: str, shaping: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    paying: list[Mapping[str, Any]] = [rule for rule in shaping if rule["value"] > 0]
    for number, rule in enumerate(paying):
        name, event = rule["id"], rule["event"]
        twins = [
            other["id"]
            for other in paying[:number]
            if other["event"] == event and other["where"] == rule["where"]
        ]
        if is_failing(event):
            message = f"The shaping rule {name} pays for {event}, a failing action."
            step = "Pay for the action that succeeds, or make the value negative."
        elif not rule["once"]:
            message = f"The shaping rule {name} pays for {event} again each time."
            step = "Write once: true."
        elif twins:
            message = f"The shaping rules {twins[0]} and {name} both pay for one {event}."
            step = "Keep one of them."
        else:
            continue
        yield change_set.finding("reward-bounds", path, message, step, value=rule["value"])
