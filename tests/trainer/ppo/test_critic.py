"""The critic values the state before each token, starts at zero and knows no temperature."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from trainer.ppo.advantages import Discount, token_level
from trainer.ppo.batch import pack
from trainer.ppo.critic import bootstrap_values, critic_like, values_before
from trainer.ppo.losses import value_loss
from trainer.ppo.scoring import score


class PositionCritic(nn.Module):
    """A critic whose value of the state after the token at p is p."""

    def forward(self, ids_BT: Tensor, position_ids_BT: Tensor) -> Tensor:
        """Return the positions."""
        del ids_BT
        return position_ids_BT.float()


def scored(batch, actor, critic, *, temperature=1.0, max_tokens=1000):
    return score(
        batch,
        actor,
        critic,
        None,
        temperature=temperature,
        bootstrap_truncated=True,
        max_tokens=max_tokens,
    )


@pytest.mark.parametrize("max_tokens", [1, 24, 1000])
def test_the_value_of_an_action_is_the_output_one_token_earlier(model, batch, max_tokens):
    packed = pack(batch())
    scores = scored(packed, model(), PositionCritic(), max_tokens=max_tokens)
    before = packed.position_ids_BT.float() - 1.0
    acts = packed.action_mask_BT
    assert scores.values_BT is not None
    assert torch.equal(scores.values_BT[acts], before[acts])
    assert not scores.values_BT[~acts].any()


def test_a_truncated_row_bootstraps_from_the_state_after_its_last_action(model, batch):
    packed = pack(batch())
    scores = scored(packed, model(), PositionCritic())
    last = torch.tensor(packed.lengths_B).float() - 1.0
    assert scores.bootstrap_B is not None
    assert packed.truncated_B.any()
    assert torch.equal(scores.bootstrap_B, torch.where(packed.truncated_B, last, 0.0))


@pytest.mark.parametrize("max_tokens", [1, 24, 40])
def test_rows_scored_in_passes_come_home_with_their_masks(model, batch, max_tokens):
    trajectories, actor = batch(), model()
    critic = critic_like(actor)
    nn.init.normal_(critic.head.weight)
    together = scored(pack(trajectories), actor, critic, max_tokens=max_tokens)
    for row, trajectory in enumerate(trajectories):
        packed = pack([trajectory])
        alone = scored(packed, actor, critic)
        width = packed.lengths_B[0]
        for name in ("old_logprobs_BT", "entropies_BT", "values_BT"):
            home, own = getattr(together, name)[row], getattr(alone, name)[0]
            assert torch.allclose(home[:width], own, atol=1e-5)
            assert not home[width:].any()


def test_the_shift_and_the_bootstrap_by_hand():
    outputs = torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    expected = torch.tensor([[0.0, 0.1, 0.2], [0.0, 0.4, 0.5]])
    assert torch.equal(values_before(outputs), expected)
    found = bootstrap_values(outputs, torch.tensor([2, 3]), torch.tensor([True, False]))
    assert found.tolist() == pytest.approx([0.2, 0.0])


def test_oracle_c1_a_fresh_critic_says_zero_and_leaves_the_discounted_rewards(model, batch):
    packed = pack(batch())
    actor = model()
    scores = scored(packed, actor, critic_like(actor))
    assert scores.values_BT is not None
    assert not scores.values_BT.any()
    acts = packed.action_mask_BT
    found = token_level(
        packed.rewards_BT.double(),
        scores.values_BT.double(),
        acts,
        packed.turn_ids_BT,
        discount=Discount(0.9, 0.5, 1.0),
        bootstrap_B=scores.bootstrap_B,
    )
    for row in range(len(packed.lengths_B)):
        rewards = packed.rewards_BT[row][acts[row]].double()
        for name, decay in (("advantages_BT", 0.45), ("returns_BT", 0.9)):
            to_go = [
                sum(decay**ahead * float(reward) for ahead, reward in enumerate(rewards[place:]))
                for place in range(len(rewards))
            ]
            assert getattr(found, name)[row][acts[row]].tolist() == pytest.approx(to_go)
    returns = found.returns_BT[acts]
    loss = value_loss(torch.zeros_like(returns), torch.zeros_like(returns), returns, clip=0.2)
    assert loss.mean().item() == pytest.approx(0.5 * returns.square().mean().item())


def test_the_temperature_leaves_values_unchanged(model, batch):
    packed, actor = pack(batch()), model()
    critic = critic_like(actor)
    nn.init.normal_(critic.head.weight)
    warm = scored(packed, actor, critic, temperature=1.0)
    cold = scored(packed, actor, critic, temperature=0.5)
    assert warm.values_BT is not None
    assert warm.values_BT.any()
    assert cold.values_BT is not None
    assert torch.equal(warm.values_BT, cold.values_BT)
    assert not torch.equal(warm.old_logprobs_BT, cold.old_logprobs_BT)


def test_the_backbone_is_a_copy_and_not_the_actors_own(model):
    actor = model()
    critic = critic_like(actor)
    own = dict(critic.body.named_parameters())
    for name, parameter in actor.base_model.named_parameters():
        assert torch.equal(parameter, own[name])
        assert parameter is not own[name]


def test_the_head_is_float32_over_a_half_precision_body(model):
    critic = critic_like(model().bfloat16())
    assert critic.head.weight.dtype is torch.float32
    assert critic(torch.tensor([[1, 2]]), torch.tensor([[0, 1]])).dtype is torch.float32
