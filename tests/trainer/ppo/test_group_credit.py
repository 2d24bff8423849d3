"""What every method that compares groups owes: nothing for luck, nothing off the actions."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.ppo.evidence import GROUPED, estimate, evidence, outcomes, per_turn
from trainer.ppo.config_check import check_config, group_faults
from trainer.ppo.credit import ESTIMATORS
from trainer.ppo.credit_options import FacaOptions, InfoPOOptions, UserRLOptions
from trainer.ppo.group_norm import compare
from trainer.ppo.learner import LearnConfig


@pytest.mark.parametrize(
    ("rewards", "ddof", "expected"),
    [
        ([1, 0, 0, 0], 0, [1.732047, -0.577349, -0.577349, -0.577349]),
        ([1, 0, 0, 0], 1, [1.499997, -0.499999, -0.499999, -0.499999]),
        ([1, 1, 0, 0], 1, [0.866024, 0.866024, -0.866024, -0.866024]),
    ],
)
def test_oracle_grpo(rewards, ddof, expected):
    batch = outcomes(rewards)
    credit = estimate("grpo", batch, group_ddof=ddof)
    found = [row[0] for row in per_turn(credit, batch)]
    assert found == pytest.approx(expected, abs=1.5e-6)


@pytest.mark.parametrize("name", GROUPED)
def test_credit_lies_on_action_tokens_alone_and_teaches_no_critic(name):
    batch = evidence([[(0.2, 2), (1.0, 3)], [(0.0, 1)]], reactions=[[1, -1], [0]])
    credit = estimate(name, batch)
    assert bool((credit.advantages_BT[~batch.action_mask_BT] == 0).all())
    assert bool((credit.advantages_BT[batch.action_mask_BT] != 0).all())
    assert not credit.returns_BT.any()
    assert all(isinstance(value, float) for value in credit.diagnostics.values())
    assert not ESTIMATORS[name].needs_critic


@pytest.mark.parametrize("name", GROUPED)
def test_a_group_of_one_learns_nothing(name):
    """One rollout, R = 1: advantage 0, where verl would pay 1."""
    batch = evidence([[(0.0, 2), (1.0, 2)]], reactions=[[1, -1]], gains=[[None, 0.5]])
    credit = estimate(name, batch)
    assert not credit.advantages_BT.any()
    assert credit.diagnostics["lone_rollouts"] == 1.0


@pytest.mark.parametrize("name", GROUPED)
@pytest.mark.parametrize("rewards", [[1.0] * 4, [0.0] * 4, [0.1 + 0.2, 0.3, 0.3, 0.3]])
def test_equal_rewards_teach_nothing_rounding_included(name, rewards):
    credit = estimate(name, outcomes(rewards))
    assert not credit.advantages_BT.any()
    assert credit.diagnostics["tied_groups"] == 1.0


@pytest.mark.parametrize("name", GROUPED)
def test_groups_do_not_see_each_other(name):
    apart = outcomes([1, 0, 5, 3, 3, 3], groups=[0, 0, 1, 1, 2, 2])
    found = [row[0] for row in per_turn(estimate(name, apart), apart)]
    assert found[:4] == pytest.approx([0.7071058, -0.7071058, 0.7071063, -0.7071063], abs=1e-6)
    assert found[4:] == [0.0, 0.0]


@pytest.mark.parametrize("name", GROUPED)
def test_an_unscorable_rollout_changes_nothing_but_the_number_of_peers(name):
    """Rewards [nan, 0, 0, 0]: the first never reaches credit and its peers earn nothing.

    An episode that could not be judged has no trajectory (a fault of ours is not a zero), so the
    group is what is left of it.
    """
    left = outcomes([0, 0, 0])
    assert not estimate(name, left).advantages_BT.any()
    mixed = outcomes([1, 0])
    found = [row[0] for row in per_turn(estimate(name, mixed), mixed)]
    assert found == pytest.approx([0.7071058, -0.7071058], abs=1e-6)


@pytest.mark.parametrize("name", GROUPED)
def test_the_penalty_for_leaving_the_reference_acts_where_it_arose(name):
    batch = evidence([[(1.0, 2), (0.5, 2)], [(0.0, 3)]], reactions=[[1], [0]])
    before = estimate(name, batch).advantages_BT
    penalty = torch.zeros_like(batch.rewards_BT)
    penalty[0, 1] = -0.25
    penalty[0, 0] = -9.0  # not an action: never seen
    after = estimate(name, replace(batch, kl_rewards_BT=penalty)).advantages_BT
    difference = after - before
    assert float(difference[0, 1]) == pytest.approx(-0.25)
    assert int(difference.count_nonzero()) == 1


@pytest.mark.parametrize("name", GROUPED)
def test_rewards_off_the_actions_are_not_read(name):
    batch = evidence([[(1.0, 2)], [(0.0, 2)]], reactions=[[1], [0]])
    spoilt = torch.where(batch.action_mask_BT, batch.rewards_BT, torch.nan)
    credit = estimate(name, replace(batch, rewards_BT=spoilt))
    assert torch.equal(credit.advantages_BT, estimate(name, batch).advantages_BT)


@given(st.lists(st.tuples(st.floats(-5, 5, width=32), st.integers(0, 3)), min_size=1, max_size=12))
def test_compared_numbers_have_mean_0_and_deviation_1_or_are_0(entries):
    values = torch.tensor([value for value, _ in entries])
    groups = torch.tensor([group for _, group in entries])
    found = compare(values, groups, ddof=0)
    for group in groups.unique():
        scores, tied = found.scores_M[groups == group], found.tied_M[groups == group]
        assert float(scores.mean()) == pytest.approx(0.0, abs=1e-9)
        if bool(tied.any()):
            assert not scores.any()
        else:
            spread = float(found.std_M[groups == group][0])
            expected = spread / (spread + 1e-6)
            assert float(scores.std(correction=0)) == pytest.approx(expected, rel=1e-6)


def test_no_numbers_at_all_are_compared_without_complaint():
    found = compare(torch.zeros(0), torch.zeros(0, dtype=torch.int64), ddof=1)
    assert all(len(part) == 0 for part in found)


@pytest.mark.parametrize("name", GROUPED)
def test_one_rollout_a_task_is_refused_before_the_run(name):
    (fault,) = group_faults(LearnConfig(credit=name), group_size=1)
    assert "rollout.group_size is 1" in fault
    assert name in fault
    assert "set it to 2 or more" in fault
    assert not list(group_faults(LearnConfig(credit=name), group_size=2))


def test_a_method_with_a_critic_needs_no_group():
    assert not list(group_faults(LearnConfig(), group_size=1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"group_ddof": 2}, "learner.group_ddof is 2; it must be 0 or 1"),
        ({"faca": FacaOptions(mode="odd")}, "faca.mode is 'odd'; it must be one of aligned, "),
        ({"faca": FacaOptions(weight=0.6)}, r"faca.weight is 0.6; it must lie within \+-0.5"),
        ({"faca": FacaOptions(invalid="zero")}, "faca.invalid is 'zero'"),
        ({"userrl": UserRLOptions(turn="sum")}, "userrl.turn is 'sum'; it must be one of equal"),
        ({"userrl": UserRLOptions(score="em")}, "userrl.score is 'em'"),
        ({"userrl": UserRLOptions(gamma=1.5)}, r"userrl.gamma is 1.5; it must lie in \[0, 1\]"),
        ({"userrl": UserRLOptions(em_rate=0.0)}, "userrl.em_rate is 0.0; it must be above 0"),
        ({"infopo": InfoPOOptions(beta=-0.1)}, "infopo.beta is -0.1"),
        ({"infopo": InfoPOOptions(gate_temperature=0.0)}, "gate_temperature is 0.0"),
        ({"infopo": InfoPOOptions(placeholder=" ")}, "infopo.placeholder is empty"),
    ],
)
def test_an_option_that_no_method_knows_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        check_config(LearnConfig(**changes))
