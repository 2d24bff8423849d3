"""Advantages with the turn as the unit of decision.

One time step is one turn of the agent: every token of a turn shares one advantage and one return.
Turns are found by their ids, never by a reward that happens to be nonzero, so a turn that earned
nothing is still a turn. This module knows nothing about models or losses.

Dimensions: B trajectories, T tokens, Q turns, N action tokens of all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from trainer.ppo.advantages import Advantages, Discount, decoupled_gae


class TurnLayout(NamedTuple):
    """Where the turns of a batch lie, one entry per action token in reading order."""

    at_N: Tensor
    """Flat position of the token in the padded batch."""
    cell_N: Tensor
    """Flat index `row * Q + turn` of the turn it belongs to."""
    first_N: Tensor
    """True for the first action token of its turn."""
    last_N: Tensor
    """True for the last action token of its turn."""
    shape: tuple[int, int]
    """(B, Q)."""


def turn_layout(action_mask_BT: Tensor, turn_ids_BT: Tensor) -> TurnLayout:
    """Find every turn of a batch.

    Args:
        action_mask_BT: True where the policy wrote the token.
        turn_ids_BT: Turn of each action token, nondecreasing along a row; ignored elsewhere.
    """
    rows, width = action_mask_BT.shape
    at_N = action_mask_BT.flatten().nonzero().squeeze(1)
    turns_N = turn_ids_BT.flatten()[at_N]
    turns = int(turns_N.max()) + 1 if len(turns_N) else 1
    cell_N = at_N.div(width, rounding_mode="floor") * turns + turns_N
    differs = cell_N[1:] != cell_N[:-1]
    edge = torch.ones(min(len(cell_N), 1), dtype=torch.bool, device=cell_N.device)
    return TurnLayout(
        at_N, cell_N, torch.cat([edge, differs]), torch.cat([differs, edge]), (rows, turns)
    )


def turn_rewards(rewards_BT: Tensor, layout: TurnLayout) -> Tensor:
    """Return the sum of each turn's rewards, shape (B, Q)."""
    rows, turns = layout.shape
    sums = rewards_BT.new_zeros(rows * turns)
    return sums.index_add_(0, layout.cell_N, rewards_BT.flatten()[layout.at_N]).view(rows, turns)


def turn_values(values_BT: Tensor, layout: TurnLayout, where_N: Tensor) -> tuple[Tensor, Tensor]:
    """Pick one value per turn.

    Args:
        values_BT: Estimate before each token.
        layout: Where the turns lie.
        where_N: True for the one token of each turn that lends its value.

    Returns:
        The values, shape (B, Q), and the mask of turns that exist, shape (B, Q).
    """
    rows, turns = layout.shape
    picked = values_BT.new_zeros(rows * turns)
    exists = torch.zeros(rows * turns, dtype=torch.bool, device=values_BT.device)
    picked[layout.cell_N[where_N]] = values_BT.flatten()[layout.at_N[where_N]]
    exists[layout.cell_N] = True
    return picked.view(rows, turns), exists.view(rows, turns)


def turn_level(
    rewards_BT: Tensor,
    values_BT: Tensor,
    action_mask_BT: Tensor,
    turn_ids_BT: Tensor,
    *,
    discount: Discount,
    bootstrap_B: Tensor | None = None,
    kl_rewards_BT: Tensor | None = None,
) -> Advantages:
    """Estimate one advantage per turn and give it to each of the turn's tokens.

    A turn is worth V at its first action token and earns the sum of its rewards. The return of a
    turn is the target of V at all its tokens. The penalty for leaving the reference stays out of
    the recursion and is added at the token that caused it.

    Args:
        rewards_BT: Reward of each token; what lies off the actions is not read.
        values_BT: Critic's estimate of the state before each token.
        action_mask_BT: True where the policy wrote the token.
        turn_ids_BT: Turn of each action token.
        discount: `gamma` acts between turns here.
        bootstrap_B: Value after the last action of a truncated row, else 0.
        kl_rewards_BT: Penalty for leaving the reference policy, per token.

    Source:
        AReaL PR 1600 (turn-level GAE); Turn-PPO 2512.17008 for gamma .99 and lambda .9.
    """
    layout = turn_layout(action_mask_BT, turn_ids_BT)
    values_BQ, exists_BQ = turn_values(values_BT, layout, layout.first_N)
    per_turn = decoupled_gae(
        turn_rewards(rewards_BT, layout),
        values_BQ,
        exists_BQ,
        discount=discount,
        bootstrap_B=bootstrap_B,
    )
    advantages_BT, returns_BT = (
        _to_tokens(grid_BQ, layout, action_mask_BT) for grid_BQ in per_turn
    )
    if kl_rewards_BT is not None:
        advantages_BT = advantages_BT + torch.where(action_mask_BT, kl_rewards_BT, 0.0)
    return Advantages(advantages_BT, returns_BT)


def _to_tokens(grid_BQ: Tensor, layout: TurnLayout, action_mask_BT: Tensor) -> Tensor:
    """Give each action token the number of its turn."""
    tokens_BT = grid_BQ.new_zeros(action_mask_BT.shape)
    tokens_BT.view(-1)[layout.at_N] = grid_BQ.flatten()[layout.cell_N]
    return tokens_BT
