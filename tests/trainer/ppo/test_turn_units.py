"""Turns as units of credit: found by their ids, never by a reward that is not zero."""

from __future__ import annotations

import random

import pytest
import torch

from trainer.ppo.advantages import Discount
from trainer.ppo.bilevel import bilevel
from trainer.ppo.credit import UNITS
from trainer.ppo.turn_level import turn_level

VALUES = torch.tensor([[0.5, 0.6, 9.0, 9.0, 9.0, 0.7, 0.8]], dtype=torch.float64)
REWARDS = torch.tensor([[0.0, 0.2, 0.0, 0.0, 0.0, 0.0, 1.0]], dtype=torch.float64)
MASK = torch.tensor([[1, 1, 0, 0, 0, 1, 1]]).bool()
TURNS = torch.tensor([[0, 0, -1, -1, -1, 1, 1]])


@pytest.mark.parametrize(
    ("gamma", "lam", "advantages", "returns"),
    [(1.0, 1.0, [0.7, 0.3], [1.2, 1.0]), (0.99, 0.9, [0.6603, 0.3], [1.1603, 1.0])],
)
def test_oracle_t1_every_token_of_a_turn_shares_its_advantage(gamma, lam, advantages, returns):
    found = turn_level(REWARDS, VALUES, MASK, TURNS, discount=Discount(gamma, lam, lam))
    first, second = advantages
    assert found.advantages_BT[MASK].tolist() == pytest.approx([first, first, second, second])
    first, second = returns
    assert found.returns_BT[MASK].tolist() == pytest.approx([first, first, second, second])
    assert not found.advantages_BT[~MASK].any()


def test_oracle_t2_turn_returns_become_rewards_inside_their_turns():
    discount = Discount(1.0, 1.0, 1.0, gamma_turn=0.95)
    found = bilevel(REWARDS, VALUES, MASK, TURNS, discount=discount)
    assert found.advantages_BT[MASK].tolist() == pytest.approx([0.65, 0.55, 0.3, 0.2])
    assert found.returns_BT[MASK].tolist() == pytest.approx([1.15, 1.15, 1.0, 1.0])
    assert not found.returns_BT[~MASK].any()


def test_bilevel_at_a_lambda_below_one_follows_its_two_passes_by_hand():
    found = bilevel(REWARDS, VALUES, MASK, TURNS, discount=Discount(0.9, 0.5, 0.5, 0.95))
    outer_second = 1.0 - 0.8
    outer_first = 0.2 + 0.95 * 0.8 - 0.6 + 0.95 * 0.5 * outer_second
    last_of_first = outer_first + 0.6 - 0.6
    first_of_first = 0.9 * 0.6 - 0.5 + 0.45 * last_of_first
    last_of_second = outer_second
    first_of_second = 0.9 * 0.8 - 0.7 + 0.45 * last_of_second
    assert found.advantages_BT[MASK].tolist() == pytest.approx(
        [first_of_first, last_of_first, first_of_second, last_of_second]
    )


@pytest.mark.parametrize("unit", [turn_level, bilevel])
def test_a_turn_that_earned_nothing_is_still_a_turn(unit):
    rewards = REWARDS.clone()
    rewards[0, 1] = 0.0
    discount = Discount(0.9, 0.5, 0.5, gamma_turn=0.9)
    paid = unit(REWARDS, VALUES, MASK, TURNS, discount=discount).advantages_BT
    unpaid = unit(rewards, VALUES, MASK, TURNS, discount=discount).advantages_BT
    assert (paid - unpaid)[0, 1].item() == pytest.approx(0.2)
    assert torch.equal(paid[0, 5:], unpaid[0, 5:])


@pytest.mark.parametrize("unit", UNITS.values())
def test_nan_on_observations_leaves_every_unit_unchanged(unit):
    values, rewards = VALUES.clone(), REWARDS.clone()
    values[~MASK] = float("nan")
    rewards[~MASK] = float("nan")
    discount = Discount(0.9, 0.5, 0.8, gamma_turn=0.95)
    clean = unit(REWARDS, VALUES, MASK, TURNS, discount=discount)
    dirty = unit(rewards, values, MASK, TURNS, discount=discount)
    assert torch.equal(clean.advantages_BT, dirty.advantages_BT)
    assert torch.equal(clean.returns_BT, dirty.returns_BT)


@pytest.mark.parametrize("unit", UNITS.values())
def test_a_turn_without_tokens_changes_no_unit(unit):
    renumbered = torch.where(TURNS == 1, 3, TURNS)
    discount = Discount(0.9, 0.5, 0.8, gamma_turn=0.95)
    dense = unit(REWARDS, VALUES, MASK, TURNS, discount=discount)
    sparse = unit(REWARDS, VALUES, MASK, renumbered, discount=discount)
    assert torch.allclose(dense.advantages_BT, sparse.advantages_BT, atol=1e-12)


@pytest.mark.parametrize("unit", UNITS.values())
def test_every_unit_bootstraps_a_truncated_row_by_as_much_as_its_last_step_is_discounted(unit):
    discount = Discount(0.9, 0.5, 0.5, gamma_turn=0.9)
    cut = unit(REWARDS, VALUES, MASK, TURNS, discount=discount, bootstrap_B=torch.tensor([0.5]))
    ended = unit(REWARDS, VALUES, MASK, TURNS, discount=discount)
    gained = (cut.advantages_BT - ended.advantages_BT)[0, -1].item()
    assert gained == pytest.approx(0.9 * 0.5)


@pytest.mark.parametrize("unit", [turn_level, bilevel])
def test_the_penalty_for_leaving_the_reference_stays_inside_its_turn(unit):
    penalty = torch.zeros_like(REWARDS)
    penalty[0, 5:] = -0.25
    discount = Discount(0.9, 0.5, 1.0, gamma_turn=0.95)
    free = unit(REWARDS, VALUES, MASK, TURNS, discount=discount)
    held = unit(REWARDS, VALUES, MASK, TURNS, discount=discount, kl_rewards_BT=penalty)
    change = held.advantages_BT - free.advantages_BT
    assert not change[0, :5].any()
    assert change[0, 6].item() == pytest.approx(-0.25)


def plain_turn_level(rewards, values, turns, gamma, lam, bootstrap):
    """Turn-level GAE from its definition, one turn at a time."""
    advantages = [0.0] * len(turns)
    next_value, carried = bootstrap, 0.0
    for turn in sorted({turn for turn in turns if turn >= 0}, reverse=True):
        places = [place for place, of in enumerate(turns) if of == turn]
        value = values[places[0]]
        earned = sum(rewards[place] for place in places)
        carried = earned + gamma * next_value - value + gamma * lam * carried
        next_value = value
        for place in places:
            advantages[place] = carried
    return advantages


def test_random_layouts_agree_with_turn_level_gae_from_its_definition():
    chance = random.Random(5)
    for _ in range(100):
        turns: list[int] = []
        for turn in range(chance.randint(1, 5)):
            turns += [-1] * chance.randint(0, 3) + [turn] * chance.randint(0, 4)
        turns = turns or [-1]
        values = [chance.gauss(0, 1) for _ in turns]
        rewards = [chance.gauss(0, 1) if turn >= 0 else 0.0 for turn in turns]
        found = turn_level(
            torch.tensor([rewards], dtype=torch.float64),
            torch.tensor([values], dtype=torch.float64),
            torch.tensor([turns]) >= 0,
            torch.tensor([turns]),
            discount=Discount(0.97, 0.8, 0.8),
            bootstrap_B=torch.tensor([0.3], dtype=torch.float64),
        )
        expected = plain_turn_level(rewards, values, turns, 0.97, 0.8, 0.3)
        assert found.advantages_BT[0].tolist() == pytest.approx(expected, abs=1e-12)
