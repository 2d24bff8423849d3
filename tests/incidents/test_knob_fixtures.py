"""Valid YAML with a bad meaning is refused, with the number that was measured and its limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gate import rules
from gate.contract import knobs
from gate.contract.findings import Finding, Refused, Severity
from tests import candidates
from tests.gate.changes import change_set

PAID = {"id": "hit", "event": "search_ok"}


def refusals(
    new: Mapping[str, Any], old: Mapping[str, Any] | None = None, **evidence: Any
) -> list[Finding]:
    found = rules.check(change_set(new, old=old, **evidence))
    return [one for one in found if one.severity is Severity.ERROR]


@pytest.mark.parametrize("world", ["travel", "intention", "turtle", "persuasion", "colbench"])
def test_k_leak(tmp_path: Path, world: str) -> None:
    old, new = {"user.facts_per_reply": 2}, {"user.facts_per_reply": 3}
    report = candidates.probed(candidates.request(tmp_path, world, old=old, new=new), "overlap")
    (leak,) = candidates.errors(report)
    assert (leak.rule, leak.limit) == ("probe.overlap", 0.6)
    assert isinstance(leak.value, float) and 0.6 <= leak.value <= 1.0


def test_k_leak_in_one_write_is_too_large_a_step() -> None:
    found = rules.check(change_set({"user.facts_per_reply": 3}))
    assert [(one.path, one.value) for one in found] == [("user.facts_per_reply", 3)]


@pytest.mark.parametrize(("wanted", "turns"), [(5, 8), (9, 16)])
def test_k_deadlock(tmp_path: Path, wanted: int, turns: int) -> None:
    base = {"environment.max_steps": turns}
    old, new = ({**base, "user.min_questions": number} for number in (wanted - 1, wanted))
    report = candidates.probed(
        candidates.request(tmp_path, "intention", old=old, new=new), "deadlock"
    )
    (stuck,) = candidates.errors(report)
    assert (stuck.rule, stuck.value, stuck.limit) == ("probe.deadlock", wanted, turns // 2)


def test_k_hard() -> None:
    harder = {"environment.max_steps": 17}
    (early,) = refusals(harder, success_history=(0.79,) * 20)
    assert (early.value, early.limit) == (17, 0.80)
    assert "0.79" in early.message
    (short,) = refusals(harder, success_history=(0.9,) * 19)
    assert "not enough data" in short.message
    assert refusals(harder, success_history=(0.80,) * 20) == []


def test_k_zero() -> None:
    new = {"reward.task_weight": 0, "reward.conversation_weight": 0}
    old = {"reward.task_weight": 0.5, "reward.conversation_weight": 0.25}
    (zero,) = refusals(new, old)
    assert zero.value == 0


def test_k_sign() -> None:
    per_step = [{**PAID, "value": 0.1, "once": False}]
    found = refusals({"reward.shaping": per_step})
    assert (1.6, 1.0) in [(one.value, one.limit) for one in found]


@pytest.mark.parametrize("epsilon", [-0.01, math.nextafter(1.0, 2.0), 1.1])
def test_k_eps(epsilon: float) -> None:
    values = knobs.defaults().to_json()
    values["user"]["user_strategy_mix"] = epsilon
    with pytest.raises(Refused) as refused:
        knobs.from_values(values, worlds=())
    (outside,) = refused.value.findings
    assert outside.value == epsilon
    assert outside.limit in (0, 1)


def test_k_couple() -> None:
    old = {"agent.kl_coeff": 0.001, "agent.actor_lr": 1e-6}
    new = {"agent.kl_coeff": 0.01, "agent.actor_lr": 1e-5}
    (both,) = refusals(new, old)
    assert (both.value, both.limit) == (0.01, 10.0)
    assert refusals(new, old, reason="the reference was replaced") == []
