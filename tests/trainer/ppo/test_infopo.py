"""InfoPO pays a turn for what its feedback taught, the more the less the rewards tell."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from tests.trainer.ppo.evidence import estimate, evidence, per_turn
from trainer.ppo.credit_options import InfoPOOptions
from trainer.ppo.group_norm import compare
from trainer.ppo.infopo import turn_gains, variance_gate
from trainer.ppo.turn_level import turn_layout

COMPAT = InfoPOOptions(compat=True)


def two_rollouts(rewards=(1.0, 0.0), gains=(0.4, 0.1), tokens=(1, 1)):
    """Two rollouts of one task, each with one credited turn and a last one that reads it."""
    return evidence(
        [[(0.0, count), (reward, 1)] for reward, count in zip(rewards, tokens, strict=True)],
        gains=[[None, gain] for gain in gains],
    )


def test_oracle_the_gain_is_the_mean_log_ratio_of_the_next_turn():
    probabilities = zip([0.6, 0.5, 0.8], [0.3, 0.5, 0.4], strict=True)
    batch = evidence([[(0.0, 2), (0.0, 3)]], gains=[[None, 0.0]])
    assert batch.logprob_gains_BT is not None and batch.informed_BT is not None
    gains_BT = batch.logprob_gains_BT.clone()
    gains_BT[0, 4:7] = torch.tensor([math.log(one / other) for one, other in probabilities])
    layout = turn_layout(batch.action_mask_BT, batch.turn_ids_BT)
    found = turn_gains(gains_BT, batch.informed_BT, layout)
    assert found.gains_BQ.tolist() == [[pytest.approx(0.462098, abs=1e-6), 0.0]]
    assert found.credited_BQ.tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [([0.0, 0.0], 0.5), ([1, 0, 0, 0, 1], 0.250594), ([1, 0], 0.195570)],
)
def test_oracle_the_gate_closes_as_rewards_spread(rewards, expected):
    outcome = compare(torch.tensor(rewards), torch.zeros(len(rewards)).long(), ddof=1)
    gate = variance_gate(outcome, InfoPOOptions())
    assert gate.tolist() == pytest.approx([expected] * len(rewards), abs=1e-6)


def test_oracle_two_rollouts_of_one_credited_turn_each():
    batch = two_rollouts()
    (first, last), (other, _) = per_turn(estimate("infopo", batch), batch)
    assert (first, other) == pytest.approx((0.776250, -0.776250), abs=2e-6)
    assert last == pytest.approx(0.707106, abs=2e-6), "nothing follows the last turn"


def test_oracle_tied_rewards_leave_the_information():
    batch = two_rollouts(rewards=(1.0, 1.0))
    (first, last), (other, _) = per_turn(estimate("infopo", batch), batch)
    assert (first, other, last) == pytest.approx((0.176776, -0.176776, 0.0), abs=1e-6)


def test_oracle_the_public_codes_token_norm():
    """Two tokens at .2 and one at .1: [.577340, .577340, -1.154681]."""
    batch = two_rollouts(rewards=(1.0, 1.0), gains=(0.4, 0.1), tokens=(2, 1))
    credit = estimate("infopo", batch, infopo=COMPAT)
    (first, _), (other, _) = per_turn(credit, batch)
    tokens = torch.tensor([0.577340, 0.577340, 0.0, -1.154681, 0.0], dtype=torch.float64)
    scale = min(1.0, 1.0 / (float(tokens.std()) + 1e-6))
    assert first == pytest.approx(0.25 * 0.577340 * scale, abs=1e-6)
    assert other == pytest.approx(0.25 * -1.154681 * scale, abs=1e-6)


def test_longer_actions_do_not_weigh_more():
    short = two_rollouts(tokens=(1, 1))
    long = two_rollouts(tokens=(5, 2))
    assert per_turn(estimate("infopo", long), long) == per_turn(estimate("infopo", short), short)


def test_a_gain_of_exactly_0_is_compared_and_a_missing_one_is_not():
    told = evidence([[(0.0, 1), (1.0, 1)]] * 3, gains=[[None, 0.0], [None, 0.3], [None, 0.6]])
    found = [row[0] for row in per_turn(estimate("infopo", told), told)]
    assert found == pytest.approx([-0.25, 0.0, 0.25], abs=2e-6)
    untold = evidence([[(0.0, 1), (1.0, 1)]] * 3, gains=[[None, None], [None, 0.3], [None, 0.6]])
    found = [row[0] for row in per_turn(estimate("infopo", untold), untold)]
    assert found == pytest.approx([0.0, -0.176776, 0.176776], abs=2e-6)
    public = [row[0] for row in per_turn(estimate("infopo", told, infopo=COMPAT), told)]
    assert public[0] == 0.0, "the public code cannot see a gain of 0"


def test_beta_and_temperature_are_options():
    batch = two_rollouts()
    plain = estimate("grpo", batch).advantages_BT
    off = estimate("infopo", batch, infopo=InfoPOOptions(beta=0.0))
    assert torch.equal(off.advantages_BT, plain)
    open_wide = estimate("infopo", batch, infopo=InfoPOOptions(beta=1.0, gate_temperature=1e9))
    gap = open_wide.advantages_BT - plain
    assert float(gap.max()) == pytest.approx(0.5 * 0.707103, abs=1e-6)


def test_the_public_codes_scale_shrinks_and_never_widens():
    batch = evidence(
        [[(0.0, 1), (1.0, 1)]] * 2, gains=[[None, 0.5], [None, 0.1]]
    )  # information has deviation .577, external 0: the factor is 1
    found = [row[0] for row in per_turn(estimate("infopo", batch, infopo=COMPAT), batch)]
    assert found == pytest.approx([0.176776, -0.176776], abs=1e-6)


def test_shares_of_the_signal_are_reported():
    found = estimate("infopo", two_rollouts()).diagnostics
    assert found["turns_credited"] == 2.0
    assert found["information_gain"] == pytest.approx(0.25)
    assert found["gate_mean"] == pytest.approx(0.195570, abs=1e-6)
    assert 0 < found["information_share"] < 1


def test_a_batch_scored_with_feedback_alone_is_refused():
    with pytest.raises(ValueError, match="needs masked feedback"):
        estimate("infopo", replace(two_rollouts(), logprob_gains_BT=None))
