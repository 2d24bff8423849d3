"""UserRL: a trajectory is scored within its group, and turn rewards give the score its shape.

A turn is found by its id, so one that earned nothing is still a turn. Whatever the shape, the mean
over a row's credited tokens is the trajectory's normalised score. This module knows nothing about
models or losses.

Dimensions: B trajectories, T tokens, Q most turns of one trajectory.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from trainer.ppo.advantages import discounted_suffix_sums
from trainer.ppo.credit_options import UserRLOptions
from trainer.ppo.estimator import Credit, CreditBatch
from trainer.ppo.group_norm import compare
from trainer.ppo.grpo import finish, group_diagnostics
from trainer.ppo.learner import LearnConfig, LearnSettings
from trainer.ppo.turn_level import turn_layout, turn_rewards

NO_CREDIT = 1e-9
"""A row whose credits add up to no more than this has no direction and gets 0."""


def estimate_userrl(batch: CreditBatch, settings: LearnSettings, config: LearnConfig) -> Credit:
    """Spread each trajectory's normalised score over its turns.

        S     = sum_q r_q (`sum`), or r_1 + g r_2 + g^2 r_3 + ... (`r2g`)
        Z     = (S - mean_g S) / (std_g S + 1e-6)
        A[t]  = c_q(t) * Z * n / sum_t c_q(t)          n action tokens with c != 0

    c_q are the turns' credits (`turn_credits`). With `equalized` and `sum` this is GRPO. A turn
    of credit 0 gets no gradient, and negative rewards can bring the sum near 0, where the factor
    explodes, or turn its sign around: `largest_factor` tells.

    Args:
        batch: A scored batch; values are not read.
        settings: Not used.
        config: `userrl` and `group_ddof`.

    Source:
        UserRL 2509.19736; the released `compute_turn_credits` and
        `compute_grpo_multiturn_advantage`. There a group of one keeps its raw score; here it
        gets 0.
    """
    del settings
    layout = turn_layout(batch.action_mask_BT, batch.turn_ids_BT)
    rewards_BQ = turn_rewards(batch.rewards_BT.double(), layout)
    exists_BQ = torch.zeros(layout.shape, dtype=torch.bool, device=rewards_BQ.device)
    exists_BQ.view(-1)[layout.cell_N] = True
    scores_B = trajectory_scores(rewards_BQ, exists_BQ, config.userrl)
    outcome = compare(scores_B, batch.group_ids_B, ddof=config.group_ddof)

    credits_BT = torch.zeros(batch.rewards_BT.shape, dtype=torch.float64, device=rewards_BQ.device)
    credits_BQ = turn_credits(rewards_BQ, config.userrl)
    credits_BT.view(-1)[layout.at_N] = credits_BQ.flatten()[layout.cell_N]
    sums_B = credits_BT.sum(dim=1)
    directed_B = sums_B.abs() > NO_CREDIT
    factor_B = torch.where(
        directed_B, (credits_BT != 0).sum(dim=1) / torch.where(directed_B, sums_B, 1.0), 0.0
    )
    advantages_BT = credits_BT * (outcome.scores_M * factor_B)[:, None]
    diagnostics = group_diagnostics(batch, outcome) | {
        "rows_without_credit": float((~directed_B).double().mean()),
        "largest_factor": float((credits_BT * factor_B[:, None]).abs().max()),
    }
    return finish(batch, advantages_BT, diagnostics)


def turn_credits(rewards_BQ: Tensor, options: UserRLOptions) -> Tensor:
    """Return the credit of every turn; past a row's last turn it has no meaning.

        equalized  c_q = 1
        r2g        c_q = r_q + g c_(q+1)
        em         c_q = .5 + .5 (1 - e^(-k r_q)) / (1 - e^(-k))     r_q clamped to [0, 1]
        naive      c_q = r_q, reported to collapse

    Args:
        rewards_BQ: Sum of each turn's rewards, 0 past a row's last turn.
        options: `turn`, `gamma` and `em_rate`.
    """
    if options.turn == "equalized":
        return torch.ones_like(rewards_BQ)
    if options.turn == "r2g":
        return discounted_suffix_sums(rewards_BQ, options.gamma)
    if options.turn == "em":
        rate = options.em_rate
        curve_BQ = -torch.expm1(-rate * rewards_BQ.clamp(0.0, 1.0))
        return 0.5 + 0.5 * curve_BQ / -math.expm1(-rate)
    return rewards_BQ


def trajectory_scores(rewards_BQ: Tensor, exists_BQ: Tensor, options: UserRLOptions) -> Tensor:
    """Return the number by which trajectories of a group are compared, shape (B,).

    Args:
        rewards_BQ: Sum of each turn's rewards.
        exists_BQ: Which turns there are; needed by `compat` alone.
        options: `score`, `gamma` and `compat`.
    """
    if options.score == "r2g":
        return discounted_suffix_sums(rewards_BQ, options.gamma)[:, 0]
    sums_B = rewards_BQ.sum(dim=1)
    if options.compat:
        sums_B = sums_B / exists_BQ.sum(dim=1).clamp(min=1)
    return (sums_B * 1e4).round() / 1e4
