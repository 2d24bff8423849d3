"""Solving the task pays, and pays more than everything on the way together."""

from __future__ import annotations

from typing import Any

import pytest

from gate.contract import knobs
from gate.contract.findings import Severity
from gate.rules import reward_weights
from gate.rules.change_set import ChangeSet
from tests.gate.changes import change_set


def rule(value: float, *, once: bool = True, name: str = "first_tool") -> dict[str, Any]:
    return {"id": name, "event": "tool_called", "value": value, "once": once}


def severities(new: dict[str, Any], **evidence: Any) -> list[Severity]:
    return [finding.severity for finding in reward_weights.check(change_set(new, **evidence))]


def test_all_weights_at_zero_are_refused() -> None:
    found = list(
        reward_weights.check(change_set({"reward.task_weight": 0, "reward.conversation_weight": 0}))
    )
    assert [finding.path for finding in found] == ["reward.task_weight"]
    assert "nothing could be learnt" in found[0].message


def test_the_papers_shaping_passes() -> None:
    values = {"first_tool": 0.02, "first_uid": 0.07, "first_oid": 0.09}
    shaping = [rule(value, name=name) for name, value in values.items()]
    assert severities({"reward.shaping": shaping}) == []


def test_shaping_that_reaches_the_task_reward_is_refused() -> None:
    assert severities({"reward.shaping": [rule(0.5), rule(0.5, name="b")]}) == [Severity.ERROR]
    assert severities({"reward.shaping": [rule(0.5), rule(0.49, name="b")]}) == []


def test_a_rule_that_pays_each_time_counts_for_every_step() -> None:
    # 16 steps at 0.0625 are 1.0, the task reward.
    assert severities({"reward.shaping": [rule(0.0625, once=False)]}) == [Severity.ERROR]
    assert severities({"reward.shaping": [rule(0.06, once=False)]}) == []


def test_a_longer_episode_can_break_the_bound_as_well() -> None:
    old = {"reward.shaping": [rule(0.06, once=False)]}
    assert severities({"environment.max_steps": 17}, old=old) == [Severity.ERROR]


def test_weights_and_the_clip_count() -> None:
    shaping = {"reward.shaping": [rule(0.5), rule(0.6, name="b")]}
    assert severities({**shaping, "reward.task_weight": 1.5}) == []
    assert severities({**shaping, "reward.conversation_weight": 0.75}) == []
    each = {"reward.shaping": [rule(0.5, once=False)]}
    assert severities({**each, "reward.turn_reward_clip": 0.05}) == []
    assert severities({**each, "reward.turn_reward_clip": 0.1}) == [Severity.ERROR]


def test_a_penalty_larger_than_the_task_reward_is_told() -> None:
    assert severities({"reward.shaping": [rule(-0.1, once=False)]}) == [Severity.WARNING]


def test_each_world_is_checked_with_its_own_values() -> None:
    new = {"reward.worlds.travel.task_weight": 0.1, "reward.shaping": [rule(0.5)]}
    found = list(reward_weights.check(change_set(new)))
    assert [finding.severity for finding in found] == [Severity.ERROR]
    assert "in travel" in found[0].message


@pytest.mark.parametrize("path", ["agent.gae_lambda", "user.match_threshold"])
def test_other_changes_are_not_held_up_by_old_rewards(path: str) -> None:
    old = {"reward.shaping": [rule(1.0), rule(1.0, name="b")]}
    assert severities({path: 0.7}, old=old) == []


def test_a_set_of_files_by_itself_is_checked_too() -> None:
    assert list(reward_weights.check(ChangeSet(knobs.defaults()))) == []
    bad = change_set({"reward.shaping": [rule(1.0)]}).new
    assert len(list(reward_weights.check(ChangeSet(bad)))) == 1
