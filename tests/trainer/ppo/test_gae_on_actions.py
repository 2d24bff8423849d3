"""Advantages run over what the policy wrote: observations cost, lend and leak nothing."""

from __future__ import annotations

import random
import time

import pytest
import torch

from trainer.ppo.advantages import Discount, discounted_suffix_sums, gae, token_level

NAN = float("nan")


def tensor(*rows: list[float]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def mask(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows).bool()


def plain_gae(rewards, values, acts, gamma, lam, bootstrap):
    """The definition, word for word, one token at a time."""
    advantages = [0.0] * len(acts)
    next_value, carried = bootstrap, 0.0
    for place in reversed(range(len(acts))):
        if acts[place]:
            delta = rewards[place] + gamma * next_value - values[place]
            carried = delta + gamma * lam * carried
            advantages[place] = carried
            next_value = values[place]
    return advantages


G1_VALUES = tensor([0.5, 0.6, 9.0, 9.0, 9.0, 0.7, 0.8])
G1_REWARDS = tensor([0.0, 0.2, 0.0, 0.0, 0.0, 0.0, 1.0])
G1_MASK = mask([1, 1, 0, 0, 0, 1, 1])


@pytest.mark.parametrize(
    ("gamma", "lam", "advantages", "returns"),
    [
        (1.0, 1.0, [0.7, 0.6, 0.3, 0.2], [1.2, 1.2, 1.0, 1.0]),
        (1.0, 0.5, [0.3, 0.4, 0.2, 0.2], [0.8, 1.0, 0.9, 1.0]),
        (0.9, 0.5, [0.165775, 0.2795, 0.11, 0.2], [0.665775, 0.8795, 0.81, 1.0]),
    ],
)
def test_oracle_g1_observations_do_not_enter_the_recursion(gamma, lam, advantages, returns):
    found = token_level(
        G1_REWARDS, G1_VALUES, G1_MASK, G1_MASK.long(), discount=Discount(gamma, lam, lam)
    )
    assert found.advantages_BT[G1_MASK].tolist() == pytest.approx(advantages, abs=1e-12)
    assert found.returns_BT[G1_MASK].tolist() == pytest.approx(returns, abs=1e-12)
    assert not found.advantages_BT[~G1_MASK].any()
    assert not found.returns_BT[~G1_MASK].any()


@pytest.mark.parametrize("gap", [0, 1, 5, 70])
def test_oracle_g2_the_length_of_an_observation_does_not_matter(gap):
    acts = mask([1, *[0] * gap, 1])
    rewards = torch.zeros(acts.shape, dtype=torch.float64)
    rewards[0, -1] = 2.0
    advantages = gae(rewards, torch.zeros_like(rewards), acts, gamma=0.9, lam=0.5)
    assert advantages[0, 0].item() == pytest.approx(0.9, abs=1e-12)


def test_oracle_g3_a_truncated_row_bootstraps_and_a_terminated_one_does_not():
    values, rewards = tensor([0.4, 0.6], [0.4, 0.6]), tensor([0.0, 0.0], [0.0, 0.0])
    found = token_level(
        rewards,
        values,
        mask([1, 1], [1, 1]),
        mask([0, 0], [0, 0]).long(),
        discount=Discount(1.0, 0.5, 0.5),
        bootstrap_B=torch.tensor([0.0, 0.7], dtype=torch.float64),
    )
    assert found.advantages_BT.flatten().tolist() == pytest.approx([-0.1, -0.6, 0.25, 0.1])
    assert found.returns_BT.flatten().tolist() == pytest.approx([0.3, 0.0, 0.65, 0.7])


def test_oracle_g4_a_reward_counts_on_an_action_and_is_lost_off_it():
    values, acts = tensor([0.2, 0.3, 0.9]), mask([1, 1, 0])
    lost = gae(tensor([0.0, 0.0, 1.0]), values, acts, gamma=1.0, lam=1.0)
    placed = gae(tensor([0.0, 1.0, 0.0]), values, acts, gamma=1.0, lam=1.0)
    assert lost[0].tolist() == pytest.approx([-0.2, -0.3, 0.0])
    assert placed[0].tolist() == pytest.approx([0.8, 0.7, 0.0])


@pytest.mark.parametrize("leak", [100.0, NAN])
def test_oracle_g5_a_masked_value_never_bootstraps_into_an_action(leak):
    advantages = gae(
        tensor([0.0, 1.0, 0.0]), tensor([0.0, 0.0, leak]), mask([1, 1, 0]), gamma=1.0, lam=0.95
    )
    assert advantages[0].tolist() == pytest.approx([0.95, 1.0, 0.0])


def test_nan_on_observations_leaves_advantages_and_returns_unchanged():
    values, rewards = G1_VALUES.clone(), G1_REWARDS.clone()
    values[~G1_MASK] = NAN
    rewards[~G1_MASK] = NAN
    discount = Discount(0.9, 0.5, 0.9)
    clean = token_level(G1_REWARDS, G1_VALUES, G1_MASK, G1_MASK.long(), discount=discount)
    dirty = token_level(rewards, values, G1_MASK, G1_MASK.long(), discount=discount)
    assert torch.equal(clean.advantages_BT, dirty.advantages_BT)
    assert torch.equal(clean.returns_BT, dirty.returns_BT)


def test_a_running_return_is_carried_across_an_observation():
    zeros = tensor([0.0, 0.0, 0.0])
    found = gae(tensor([0.0, 0.0, 1.0]), zeros, mask([1, 0, 1]), gamma=0.5, lam=1.0)
    assert found[0, 0].item() == pytest.approx(0.5)
    shorter_lambda = gae(tensor([0.0, 0.0, 1.0]), zeros, mask([1, 0, 1]), gamma=0.5, lam=0.5)
    assert shorter_lambda[0, 0].item() == pytest.approx(0.25)


def test_a_row_without_actions_scores_nothing_and_leaves_its_peers_alone():
    acts, values = mask([1, 0, 1], [0, 0, 0]), tensor([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])
    rewards = tensor([0.0, 0.0, 1.0], [0.0, 0.0, 10.0])
    both = gae(rewards, values, acts, gamma=0.9, lam=0.8, bootstrap_B=torch.tensor([0.5, 3.0]))
    alone = gae(
        rewards[:1], values[:1], acts[:1], gamma=0.9, lam=0.8, bootstrap_B=torch.tensor([0.5])
    )
    assert both[1].sum() == 0
    assert torch.equal(both[:1], alone)


def test_a_batch_without_any_action_has_no_advantages():
    empty = gae(tensor([1.0, 1.0]), tensor([1.0, 1.0]), mask([0, 0]), gamma=0.9, lam=0.9)
    assert empty.tolist() == [[0.0, 0.0]]


def test_earlier_turns_receive_credit_for_a_reward_at_the_end():
    acts = mask([1, 1, 0, 0, 1, 1, 0, 1])
    rewards = torch.zeros(acts.shape, dtype=torch.float64)
    rewards[0, -1] = 1.0
    advantages = gae(rewards, torch.zeros_like(rewards), acts, gamma=1.0, lam=0.9)
    assert (advantages[acts] > 0.5).all()


def test_actor_and_critic_have_lambdas_of_their_own():
    discount = Discount(0.9, 0.5, 1.0)
    found = token_level(G1_REWARDS, G1_VALUES, G1_MASK, G1_MASK.long(), discount=discount)
    actor = gae(G1_REWARDS, G1_VALUES, G1_MASK, gamma=0.9, lam=0.5)
    critic = gae(G1_REWARDS, G1_VALUES, G1_MASK, gamma=0.9, lam=1.0)
    assert torch.equal(found.advantages_BT, actor)
    assert torch.allclose(found.returns_BT[G1_MASK], (critic + G1_VALUES)[G1_MASK])


def test_the_penalty_on_an_observation_is_not_read():
    huge = torch.where(G1_MASK, -0.01, -1e6).double()
    small = torch.where(G1_MASK, -0.01, 0.0).double()
    discount = Discount(0.9, 0.5, 1.0)
    with_huge = token_level(
        G1_REWARDS, G1_VALUES, G1_MASK, G1_MASK.long(), kl_rewards_BT=huge, discount=discount
    )
    with_small = token_level(
        G1_REWARDS, G1_VALUES, G1_MASK, G1_MASK.long(), kl_rewards_BT=small, discount=discount
    )
    assert torch.equal(with_huge.returns_BT, with_small.returns_BT)
    assert torch.equal(with_huge.advantages_BT, with_small.advantages_BT)


def test_a_thousand_random_layouts_agree_with_the_definition():
    chance = random.Random(11)
    mismatches = 0
    for _ in range(1000):
        rows, width = chance.randint(1, 4), chance.randint(1, 160)
        density = chance.choice([0.1, 0.5, 0.9, 1.0])
        acts = [[chance.random() < density for _ in range(width)] for _ in range(rows)]
        values = [[chance.gauss(0, 1) for _ in range(width)] for _ in range(rows)]
        rewards = [[chance.gauss(0, 1) for _ in range(width)] for _ in range(rows)]
        bootstrap = [chance.choice([0.0, chance.gauss(0, 1)]) for _ in range(rows)]
        gamma, lam = chance.choice([1.0, 0.99, 0.7]), chance.choice([0.0, 0.5, 0.95, 1.0])
        found = gae(
            tensor(*rewards),
            tensor(*values),
            torch.tensor(acts),
            gamma=gamma,
            lam=lam,
            bootstrap_B=torch.tensor(bootstrap, dtype=torch.float64),
        )
        expected = tensor(
            *(
                plain_gae(rewards[row], values[row], acts[row], gamma, lam, bootstrap[row])
                for row in range(rows)
            )
        )
        mismatches += not torch.allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert mismatches == 0


@pytest.mark.parametrize("width", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("decay", [0.0, 1e-3, 0.9, 1.0])
def test_suffix_sums_by_blocks_equal_a_plain_scan(width, decay):
    chance = torch.Generator().manual_seed(width)
    terms = torch.randn(3, width, generator=chance, dtype=torch.float64)
    expected = torch.zeros_like(terms)
    carried = torch.zeros(3, dtype=torch.float64)
    for column in reversed(range(width)):
        carried = terms[:, column] + decay * carried
        expected[:, column] = carried
    assert torch.allclose(discounted_suffix_sums(terms, decay), expected, rtol=1e-12, atol=1e-12)


def test_a_batch_of_256_by_1024_takes_at_most_20_milliseconds_of_one_core():
    chance = torch.Generator().manual_seed(0)
    acts = torch.zeros(256, 1024, dtype=torch.bool)
    for turn in range(8):
        acts[:, turn * 128 + 30 : turn * 128 + 100] = True
    values = torch.randn(256, 1024, generator=chance)
    rewards = torch.randn(256, 1024, generator=chance)
    seconds = []
    for _ in range(10):
        started = time.process_time()
        gae(rewards, values, acts, gamma=0.99, lam=0.95)
        seconds.append(time.process_time() - started)
    assert min(seconds) <= 0.020
