"""Generalised advantage estimation over what the policy wrote, and over nothing else.

The recursion runs on the compressed sequence of action tokens: a user's answer or a tool's result
between two actions costs no discount, lends no value, and may hold NaN without being seen. This
module knows nothing about turns (`turn_level`, `bilevel`), models or losses.

Dimensions: B trajectories, T tokens, N action tokens of all rows, n most actions of one row.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_BLOCK = 64


class Discount(NamedTuple):
    """The four numbers that shape an advantage; all lie in [0, 1]."""

    gamma: float
    """Discount between neighbouring steps of the unit: action tokens, or turns for `turn`."""
    lam_actor: float
    """Bias against variance for the advantages; 1 is Monte Carlo."""
    lam_critic: float
    """The same for the critic's targets (decoupled GAE, VC-PPO 2503.01491)."""
    gamma_turn: float = 1.0
    """Discount between turns where turns and tokens have one each (`bilevel`)."""


class Advantages(NamedTuple):
    """What the actor and the critic learn from, in the units of reward; 0 off the actions."""

    advantages_BT: Tensor
    returns_BT: Tensor


def token_level(
    rewards_BT: Tensor,
    values_BT: Tensor,
    action_mask_BT: Tensor,
    turn_ids_BT: Tensor,
    *,
    discount: Discount,
    bootstrap_B: Tensor | None = None,
    kl_rewards_BT: Tensor | None = None,
) -> Advantages:
    """Estimate one advantage per action token.

    Args:
        rewards_BT: Reward of each token; what lies off the actions is not read.
        values_BT: Critic's estimate of the state before each token, in the units of reward.
        action_mask_BT: True where the policy wrote the token.
        turn_ids_BT: Not used; the units share one signature.
        discount: Decay between action tokens and the two lambdas.
        bootstrap_B: Value of the state after the last action of a truncated row, 0 for a
            terminated one; None means 0 for all.
        kl_rewards_BT: The penalty for leaving the reference policy, as a (negative) reward.

    Source:
        Schulman et al. 2016, eq. 16, restricted to action tokens; lambda for the value target
        apart from the actor's as in VC-PPO.
    """
    del turn_ids_BT
    rewards_BT = rewards_BT if kl_rewards_BT is None else rewards_BT + kl_rewards_BT
    return decoupled_gae(
        rewards_BT, values_BT, action_mask_BT, discount=discount, bootstrap_B=bootstrap_B
    )


def decoupled_gae(
    rewards_BT: Tensor,
    values_BT: Tensor,
    mask_BT: Tensor,
    *,
    discount: Discount,
    bootstrap_B: Tensor | None = None,
) -> Advantages:
    """Return advantages under `lam_actor` and value targets under `lam_critic` (see `gae`)."""
    gamma, lam_actor, lam_critic, _ = discount
    advantages_BT = gae(
        rewards_BT, values_BT, mask_BT, gamma=gamma, lam=lam_actor, bootstrap_B=bootstrap_B
    )
    target_BT = advantages_BT
    if lam_critic != lam_actor:
        target_BT = gae(
            rewards_BT, values_BT, mask_BT, gamma=gamma, lam=lam_critic, bootstrap_B=bootstrap_B
        )
    returns_BT = torch.where(mask_BT, target_BT + values_BT, 0.0)
    return Advantages(advantages_BT, returns_BT)


@torch.no_grad()
def gae(
    rewards_BT: Tensor,
    values_BT: Tensor,
    mask_BT: Tensor,
    *,
    gamma: float,
    lam: float,
    bootstrap_B: Tensor | None = None,
) -> Tensor:
    """Return one advantage per masked position, zero everywhere else.

    For the masked positions a_1..a_n of a row, from the last to the first:

        delta_j = r[a_j] + gamma * V[a_(j+1)] - V[a_j]      V[a_(n+1)] = bootstrap
        A[a_j]  = delta_j + gamma * lam * A[a_(j+1)]

    A reward off the mask is lost, so rewards must be placed on actions before
    (`trainer.trajectory.place_rewards`). Computed in float64, returned in the dtype of the values.

    Args:
        rewards_BT: Reward at each position.
        values_BT: Estimate of the state before each position.
        mask_BT: Which positions are steps of the decision process; a row may have none.
        gamma: Discount per step, in [0, 1].
        lam: Bias-variance trade-off, in [0, 1].
        bootstrap_B: Value after each row's last step; None means 0.

    Source:
        Schulman et al. 2016, eq. 16; compressed to actions as verl has it since PR 2337.
    """
    rows, width = mask_BT.shape
    rank_BT = mask_BT.cumsum(dim=1)
    counts_B = rank_BT[:, -1] if width else rank_BT.new_zeros(rows)
    longest = int(counts_B.max()) if rows else 0
    advantages_BT = torch.zeros_like(values_BT)
    if longest == 0:
        return advantages_BT

    at_N = mask_BT.flatten().nonzero().squeeze(1)
    to_N = at_N.div(width, rounding_mode="floor") * longest + rank_BT.flatten()[at_N] - 1
    rewards_Bn = _spread(rewards_BT.flatten()[at_N], to_N, rows, longest)
    values_Bn = _spread(values_BT.flatten()[at_N], to_N, rows, longest)

    next_values_Bn = torch.cat([values_Bn[:, 1:], values_Bn.new_zeros(rows, 1)], dim=1)
    if bootstrap_B is not None:
        acting_R = counts_B.nonzero().squeeze(1)
        next_values_Bn[acting_R, counts_B[acting_R] - 1] = bootstrap_B[acting_R].double()
    # Past a row's end reward, value and next value are all 0, and so is what is carried back.
    deltas_Bn = rewards_Bn + gamma * next_values_Bn - values_Bn
    compressed_Bn = discounted_suffix_sums(deltas_Bn, gamma * lam)
    advantages_BT.view(-1)[at_N] = compressed_Bn.flatten()[to_N].to(values_BT.dtype)
    return advantages_BT


def discounted_suffix_sums(terms_Bn: Tensor, decay: float) -> Tensor:
    """Return y with y_j = x_j + decay * y_(j+1), row by row.

    Blocks of 64 columns are summed by one product with a triangle of powers and only the carry
    between blocks is sequential: some twenty kernels where a plain scan takes thousands. No power
    is ever divided by, so a small decay loses nothing.

    Args:
        terms_Bn: The terms x.
        decay: Weight of each later term per column, in [0, 1].
    """
    rows, width = terms_Bn.shape
    blocks = -(-width // _BLOCK)
    padded_Bn = torch.nn.functional.pad(terms_Bn, (0, blocks * _BLOCK - width))
    column_K = torch.arange(_BLOCK, device=terms_Bn.device)
    distance_KK = column_K[:, None] - column_K[None, :]
    base = torch.as_tensor(decay, dtype=terms_Bn.dtype, device=terms_Bn.device)
    powers_KK = torch.where(distance_KK >= 0, base ** distance_KK.clamp(min=0), 0.0)
    sums_BMK = (padded_Bn.view(rows * blocks, _BLOCK) @ powers_KK).view(rows, blocks, _BLOCK)
    reach_K = base ** (_BLOCK - column_K)
    for block in range(blocks - 2, -1, -1):
        sums_BMK[:, block] += sums_BMK[:, block + 1, :1] * reach_K
    return sums_BMK.view(rows, blocks * _BLOCK)[:, :width]


def _spread(values_N: Tensor, to_N: Tensor, rows: int, width: int) -> Tensor:
    """Lay flat values out as a zero-filled float64 grid, at the given flat places."""
    grid = torch.zeros(rows * width, dtype=torch.float64, device=values_N.device)
    grid[to_N] = values_N.double()
    return grid.view(rows, width)
