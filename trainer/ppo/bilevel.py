"""Advantages in two passes: between turns first, then between the tokens of each turn.

The outer pass decides what a turn was worth, the inner one which of its tokens made it so; the
inner recursion starts afresh at every turn's end. This module knows nothing about models or losses.

Dimensions: B trajectories, T tokens, Q turns, N action tokens, M turns of all rows, L longest turn.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.ppo.advantages import Advantages, Discount, gae
from trainer.ppo.turn_level import TurnLayout, turn_layout, turn_rewards, turn_values


def bilevel(
    rewards_BT: Tensor,
    values_BT: Tensor,
    action_mask_BT: Tensor,
    turn_ids_BT: Tensor,
    *,
    discount: Discount,
    bootstrap_B: Tensor | None = None,
    kl_rewards_BT: Tensor | None = None,
) -> Advantages:
    """Estimate turn returns under `gamma_turn`, then advantages inside each turn under `gamma`.

    The outer pass takes V at each turn's last action token. Its return then stands in for the
    reward of that token, and the inner pass never looks past it. Both passes use the actor's lambda
    for advantages and the critic's for returns.

    Args:
        rewards_BT: Reward of each token; what lies off the actions is not read.
        values_BT: Critic's estimate of the state before each token.
        action_mask_BT: True where the policy wrote the token.
        turn_ids_BT: Turn of each action token.
        discount: `gamma_turn` acts between turns, `gamma` between tokens of one turn.
        bootstrap_B: Value after the last action of a truncated row, else 0.
        kl_rewards_BT: Penalty for leaving the reference policy; it acts inside the turn alone.

    Source:
        VAGEN 2510.16907 with its explicit mask of turn ends (not "reward is nonzero", which
        would not see a turn that earned 0).
    """
    layout = turn_layout(action_mask_BT, turn_ids_BT)
    values_BQ, exists_BQ = turn_values(values_BT, layout, layout.last_N)
    rewards_BQ = turn_rewards(rewards_BT, layout)

    def both_passes(lam: float) -> Tensor:
        outer_BQ = gae(
            rewards_BQ,
            values_BQ,
            exists_BQ,
            gamma=discount.gamma_turn,
            lam=lam,
            bootstrap_B=bootstrap_B,
        )
        inner_BT = torch.zeros_like(values_BT) if kl_rewards_BT is None else kl_rewards_BT.clone()
        ends_M = layout.last_N
        inner_BT.view(-1)[layout.at_N[ends_M]] += (outer_BQ + values_BQ).flatten()[
            layout.cell_N[ends_M]
        ]
        return _inside_turns(inner_BT, values_BT, layout, gamma=discount.gamma, lam=lam)

    advantages_BT = both_passes(discount.lam_actor)
    target_BT = (
        advantages_BT
        if discount.lam_critic == discount.lam_actor
        else both_passes(discount.lam_critic)
    )
    returns_BT = torch.where(action_mask_BT, target_BT + values_BT, 0.0)
    return Advantages(advantages_BT, returns_BT)


def _inside_turns(
    rewards_BT: Tensor, values_BT: Tensor, layout: TurnLayout, *, gamma: float, lam: float
) -> Tensor:
    """Run GAE with every turn as a row of its own, so that nothing crosses a turn's end."""
    advantages_BT = torch.zeros_like(values_BT)
    if not len(layout.at_N):
        return advantages_BT
    row_N = layout.first_N.cumsum(0) - 1
    starts_M = layout.first_N.nonzero().squeeze(1)
    column_N = torch.arange(len(row_N), device=row_N.device) - starts_M[row_N]
    shape = (len(starts_M), int(column_N.max()) + 1)
    rewards_ML, values_ML = values_BT.new_zeros(shape), values_BT.new_zeros(shape)
    mask_ML = torch.zeros(shape, dtype=torch.bool, device=values_BT.device)
    rewards_ML[row_N, column_N] = rewards_BT.flatten()[layout.at_N].to(values_BT.dtype)
    values_ML[row_N, column_N] = values_BT.flatten()[layout.at_N]
    mask_ML[row_N, column_N] = True
    inner_ML = gae(rewards_ML, values_ML, mask_ML, gamma=gamma, lam=lam)
    advantages_BT.view(-1)[layout.at_N] = inner_ML[row_N, column_N]
    return advantages_BT
