"""The pull to the reference and a learning rate jump together only for a stated reason."""

from __future__ import annotations

import pytest

from gate.rules import coupled
from tests.gate.changes import change_set

OLD = {"agent.kl_coeff": 0.001, "agent.actor_lr": 1e-6, "agent.critic_lr": 1e-5}


@pytest.mark.parametrize("rate", ["agent.actor_lr", "agent.critic_lr"])
def test_both_times_ten_in_one_write_are_refused(rate: str) -> None:
    new = {"agent.kl_coeff": 0.01, rate: OLD[rate] * 10}
    assert [finding.path for finding in coupled.check(change_set(new, old=OLD))] == [
        "agent.kl_coeff"
    ]


def test_a_reason_allows_it_and_a_blank_one_does_not() -> None:
    new = {"agent.kl_coeff": 0.01, "agent.actor_lr": 1e-5}
    stated = change_set(new, old=OLD, reason="the reference was replaced")
    assert list(coupled.check(stated)) == []
    assert list(coupled.check(change_set(new, old=OLD, reason="  "))) != []


@pytest.mark.parametrize(
    "new",
    [
        {"agent.kl_coeff": 0.01},
        {"agent.actor_lr": 1e-5},
        {"agent.actor_lr": 1e-5, "agent.critic_lr": 1e-4},
        {"agent.kl_coeff": 0.009, "agent.actor_lr": 1e-5},
        {"agent.kl_coeff": 0.0001, "agent.actor_lr": 1e-5},
    ],
)
def test_one_of_them_or_a_smaller_move_passes(new: dict[str, float]) -> None:
    assert list(coupled.check(change_set(new, old=OLD))) == []


def test_turning_the_pull_on_is_not_a_factor() -> None:
    new = {"agent.kl_coeff": 0.01, "agent.actor_lr": 1e-5}
    assert list(coupled.check(change_set(new))) == []
