"""Whitening and explained variance look at the action tokens of the whole batch, at once."""

from __future__ import annotations

import pytest
import torch

from trainer.ppo.explained_variance import explained_variance
from trainer.ppo.whiten import whiten

ADVANTAGES = torch.tensor([[1.0, 3.0, 100.0, -2.0, 2.0]], dtype=torch.float64)
MASK = torch.tensor([[1, 1, 0, 1, 1]]).bool()


def test_oracle_w1_masked_numbers_do_not_count():
    found = whiten(ADVANTAGES, MASK, fewest=2)
    expected = [0.0, 1.069045, 0.0, -1.603567, 0.534522]
    assert found[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_nan_off_the_mask_is_not_seen():
    dirty = torch.where(MASK, ADVANTAGES, float("nan"))
    assert torch.equal(whiten(dirty, MASK, fewest=2), whiten(ADVANTAGES, MASK, fewest=2))


def test_a_handful_of_tokens_loses_its_mean_only():
    assert whiten(ADVANTAGES, MASK)[0].tolist() == pytest.approx([0.0, 2.0, 0.0, -3.0, 1.0])


def test_equal_advantages_become_zero_and_stay_finite():
    found = whiten(torch.full((2, 8), 3.0), torch.ones(2, 8).bool())
    assert found.tolist() == torch.zeros(2, 8).tolist()


def test_one_token_and_no_token_stay_finite():
    assert whiten(torch.tensor([[5.0]]), torch.tensor([[True]])).tolist() == [[0.0]]
    assert whiten(torch.tensor([[5.0]]), torch.tensor([[False]])).tolist() == [[0.0]]


def test_oracle_explained_variance():
    returns, values = torch.tensor([1.0, 0.0, 1.0, 0.0]), torch.tensor([0.8, 0.2, 0.6, 0.4])
    assert explained_variance(values, returns) == pytest.approx(0.6, abs=1e-6)


def test_explained_variance_of_parts_is_another_number_than_that_of_the_whole():
    chance = torch.Generator().manual_seed(3)
    returns = torch.randn(32, generator=chance) + torch.arange(32)
    values = returns + torch.randn(32, generator=chance)
    parts = [
        explained_variance(value, target)
        for value, target in zip(values.split(8), returns.split(8), strict=True)
    ]
    assert explained_variance(values, returns) > sum(parts) / 4 + 0.05


def test_returns_that_are_all_equal_leave_nothing_to_explain():
    assert explained_variance(torch.tensor([0.3, 0.1]), torch.tensor([1.0, 1.0])) == 0.0
    assert explained_variance(torch.tensor([0.3]), torch.tensor([1.0])) == 0.0


def test_a_critic_worse_than_a_constant_is_below_zero():
    assert explained_variance(torch.tensor([0.0, 5.0]), torch.tensor([1.0, 0.0])) < 0
