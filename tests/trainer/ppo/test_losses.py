"""The losses of PPO, number by number, and their mean over a whole minibatch."""

from __future__ import annotations

import math

import pytest
import torch

from trainer.ppo.losses import clipped_surrogate, token_mean, value_loss


def loss_of(ratio: float, advantage: float, *, high: float = 0.2, dual: float = 1e9) -> float:
    surrogate = clipped_surrogate(
        torch.tensor([math.log(ratio)], dtype=torch.float64),
        torch.zeros(1, dtype=torch.float64),
        torch.tensor([advantage], dtype=torch.float64),
        clip_low=0.2,
        clip_high=high,
        dual_clip=dual,
    )
    return surrogate.loss_N.item()


def test_oracle_p1_the_clipped_surrogate():
    assert loss_of(1.5, 2.0) == pytest.approx(-2.4)
    assert loss_of(1.5, 2.0, high=0.28) == pytest.approx(-2.56)
    assert loss_of(0.5, 2.0) == pytest.approx(-1.0)
    assert loss_of(1.5, -2.0) == pytest.approx(3.0)
    assert loss_of(0.5, -2.0) == pytest.approx(1.6)
    assert loss_of(5.0, -2.0) == pytest.approx(10.0)
    assert loss_of(5.0, -2.0, dual=3.0) == pytest.approx(6.0)


def test_the_dual_clip_leaves_positive_advantages_alone():
    assert loss_of(5.0, 2.0, dual=3.0) == pytest.approx(-2.4)


@pytest.mark.parametrize(
    ("ratio", "advantage", "clipped"),
    [(1.5, 2.0, True), (0.5, 2.0, False), (1.5, -2.0, False), (0.5, -2.0, True), (1.0, 1.0, False)],
)
def test_a_token_is_counted_as_clipped_exactly_where_its_gradient_is_cut(ratio, advantage, clipped):
    logprob = torch.tensor([math.log(ratio)], requires_grad=True)
    surrogate = clipped_surrogate(
        logprob,
        torch.zeros(1),
        torch.tensor([advantage]),
        clip_low=0.2,
        clip_high=0.2,
        dual_clip=3.0,
    )
    surrogate.loss_N.sum().backward()
    assert surrogate.clipped_N.item() is clipped
    assert logprob.grad is not None
    assert (logprob.grad.item() == 0.0) is clipped


def test_a_runaway_ratio_stays_finite():
    surrogate = clipped_surrogate(
        torch.tensor([500.0]),
        torch.zeros(1),
        torch.tensor([-1.0]),
        clip_low=0.2,
        clip_high=0.2,
        dual_clip=3.0,
    )
    assert surrogate.loss_N.item() == pytest.approx(3.0)
    assert surrogate.ratio_N.item() == pytest.approx(math.exp(20.0), rel=1e-5)


def test_oracle_v1_the_value_loss_is_pessimistic_about_large_moves():
    value, old, target = torch.tensor([1.0]), torch.tensor([0.2]), torch.tensor([1.2])
    clipped = value_loss(value, old, target, clip=0.5)
    assert 2.0 * clipped.item() == pytest.approx(0.25)
    assert value_loss(value, old, target, clip=None).item() == pytest.approx(0.5 * 0.04)


def test_oracle_p2_the_token_mean_is_the_same_however_the_minibatch_is_cut():
    parts = [torch.tensor([1.0, 1.0, 1.0, 1.0]), torch.tensor([4.0])]
    assert token_mean(torch.cat(parts), total=5).item() == pytest.approx(1.6)
    assert sum(token_mean(part, total=5).item() for part in parts) == pytest.approx(1.6)
    assert sum(float(part.mean()) for part in parts) / 2 == pytest.approx(2.5)


def test_a_row_without_actions_adds_nothing_to_either_side_of_the_mean():
    losses = torch.tensor([[1.0, 3.0], [float("nan"), float("nan")]])
    acts = torch.tensor([[1, 1], [0, 0]]).bool()
    assert token_mean(losses[acts], total=int(acts.sum())).item() == pytest.approx(2.0)
