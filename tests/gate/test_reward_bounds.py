"""Shaping pays for progress, once: never for failing, never again and again."""

from __future__ import annotations

from typing import Any

import pytest

from gate.contract import knobs
from gate.rules import reward_bounds
from gate.rules.change_set import ChangeSet
from tests.gate.changes import change_set


def rule(event: str = "search_ok", value: float = 0.1, **fields: Any) -> dict[str, Any]:
    return {"id": f"pay_{event}", "event": event, "value": value, **fields}


def messages(*rules_: dict[str, Any]) -> list[str]:
    given = change_set({"reward.shaping": list(rules_)})
    return [finding.message for finding in reward_bounds.check(given)]


def test_the_papers_shaping_passes() -> None:
    assert messages(rule("first_tool", 0.02), rule("first_uid", 0.07)) == []


@pytest.mark.parametrize(
    "event",
    ["search_failed", "malformed", "choice_wrong", "choice_repeated", "off_topic", "tool_error"],
)
def test_paying_for_a_failing_event_is_refused_and_a_penalty_is_not(event: str) -> None:
    assert messages(rule(event)) == [
        f"The shaping rule pay_{event} pays for {event}, a failing action."
    ]
    assert messages(rule(event, -0.1, once=False)) == []


def test_an_event_pays_once() -> None:
    assert len(messages(rule(once=False))) == 1
    assert messages(rule(once=True)) == []


def test_two_rules_do_not_pay_for_the_same_thing() -> None:
    again = rule(id="again")
    assert "both pay" in messages(rule(), again)[0]
    assert messages(rule(), {**again, "where": {"world": "travel"}}) == []


def test_a_worlds_own_shaping_is_looked_at_too() -> None:
    path = "reward.worlds.travel.shaping"
    found = list(reward_bounds.check(change_set({path: [rule("malformed")]})))
    assert [finding.path for finding in found] == [path]
    other = {"reward.worlds.travel.task_weight": 0.9}
    assert list(reward_bounds.check(change_set(other))) == []
    launched = knobs.apply(
        knobs.defaults(), [knobs.KnobChange(p, None, v) for p, v in other.items()]
    )
    assert list(reward_bounds.check(ChangeSet(launched))) == []
