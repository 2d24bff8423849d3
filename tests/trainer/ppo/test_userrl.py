"""UserRL gives a trajectory's normalised score the shape of its turn rewards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.trainer.ppo.evidence import estimate, evidence, outcomes, per_turn
from trainer.ppo.credit_options import UserRLOptions
from trainer.ppo.userrl import trajectory_scores, turn_credits

U1 = torch.tensor([[0.2, 0.0, 0.8]], dtype=torch.float64)
THERE = torch.ones(1, 3, dtype=torch.bool)


def options(**changes: Any) -> UserRLOptions:
    return replace(UserRLOptions(turn="r2g", score="sum"), **changes)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("r2g", [0.712, 0.64, 0.8]),
        ("em", [0.6906, 0.5, 0.9615]),
        ("equalized", [1, 1, 1]),
        ("naive", [0.2, 0, 0.8]),
    ],
)
def test_oracle_u1_turn_credits(turn, expected):
    assert turn_credits(U1, options(turn=turn))[0].tolist() == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("score", "compat", "expected"),
    [("r2g", False, 0.712), ("sum", False, 1.0), ("sum", True, 0.3333)],
)
def test_oracle_u1_trajectory_scores(score, compat, expected):
    found = trajectory_scores(U1, THERE, options(score=score, compat=compat))
    assert found.tolist() == pytest.approx([expected], abs=1e-9)


def two_rows(turn: str, rewards=(0.2, 0.0, 0.8), peer: float = 0.0, **changes: Any):
    """A row of turns with 2, 3 and 1 tokens beside a peer of one turn."""
    batch = evidence([list(zip(rewards, (2, 3, 1), strict=True)), [(peer, 2)]])
    credit = estimate("userrl", batch, userrl=options(turn=turn, **changes))
    return batch, credit


def test_oracle_u2_the_shape_follows_the_turns_and_the_mean_is_the_score():
    batch, credit = two_rows("r2g")
    row = credit.advantages_BT[0][batch.action_mask_BT[0]]
    score = float(row.mean())
    expected = torch.tensor([1.237066, 1.237066, 1.111969, 1.111969, 1.111969, 1.389961]) / 1.2
    assert (row / score).tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    # S = [1, 0]: the score itself is that of GRPO on two rows.
    assert score == pytest.approx(0.7071058, abs=1e-6)


def test_oracle_u2_equalized_is_the_score_everywhere():
    batch, credit = two_rows("equalized")
    row = credit.advantages_BT[0][batch.action_mask_BT[0]]
    assert row.tolist() == pytest.approx([0.7071058] * 6, abs=1e-6)


def test_equalized_and_summed_is_grpo():
    batch = outcomes([1, 0, 0.5, 0.25])
    found = estimate("userrl", batch, userrl=options(turn="equalized"))
    assert torch.allclose(found.advantages_BT, estimate("grpo", batch).advantages_BT)


def test_a_turn_that_earned_nothing_is_still_a_turn():
    batch, credit = two_rows("r2g")
    first, second, third = per_turn(credit, batch)[0]
    assert first > 0 and second > 0 and third > 0
    assert second / third == pytest.approx(0.8), "it is discounted once, as any turn"


def test_a_turn_of_credit_0_gets_no_gradient():
    batch, credit = two_rows("naive")
    first, second, third = per_turn(credit, batch)[0]
    assert second == 0.0
    assert third / first == pytest.approx(4.0)
    nonzero = credit.advantages_BT[0][credit.advantages_BT[0] != 0]
    assert float(nonzero.mean()) == pytest.approx(0.7071058, abs=1e-6)


def test_a_row_without_any_credit_is_0():
    _, credit = two_rows("naive", rewards=(0.0, 0.0, 0.0), peer=1.0)
    assert not credit.advantages_BT[0].any()
    assert credit.diagnostics["rows_without_credit"] == 0.5
    _, credit = two_rows("naive", rewards=(0.25, 0.0, -0.5), peer=1.0)
    assert not credit.advantages_BT[0].any(), "2 * .25 - 1 * .5: the tokens add up to nothing"


def test_negative_rewards_can_turn_signs_around_and_are_told():
    """Credits [.2, 0, -.6] over 2, 3, 1 tokens add up to -.2: the better turn gets the worse sign.

    The published formula, reproduced as it is.
    """
    batch, credit = two_rows("naive", rewards=(0.2, 0.0, -0.6), peer=-1.0)
    first, _, third = per_turn(credit, batch)[0]
    assert first < 0 < third
    assert credit.diagnostics["largest_factor"] == pytest.approx(9.0)


def test_rewards_beyond_the_mappings_domain_are_clamped():
    rewards = torch.tensor([[-3.0, 7.0]], dtype=torch.float64)
    assert turn_credits(rewards, options(turn="em"))[0].tolist() == [0.5, 1.0]


def test_the_papers_best_pair_is_the_default():
    default = UserRLOptions()
    assert (default.turn, default.score, default.gamma) == ("equalized", "r2g", 0.8)


def test_its_discount_is_its_own():
    batch, credit = two_rows("r2g", gamma=1.0)
    first, second, third = per_turn(credit, batch)[0]
    assert first / third == pytest.approx(1.25)
    assert second / third == pytest.approx(1.0)
