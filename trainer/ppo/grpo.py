"""GRPO over whole dialogues: a trajectory is as good as it beats its peers on the same task.

No critic: the group's mean is the baseline, and every action token of a dialogue shares one
advantage. The other methods with groups are built on the two functions here. This module knows
nothing about models or losses.

Dimensions: B trajectories, T tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.ppo.estimator import Credit, CreditBatch
from trainer.ppo.group_norm import Compared, compare
from trainer.ppo.learner import LearnConfig, LearnSettings


def estimate_grpo(batch: CreditBatch, settings: LearnSettings, config: LearnConfig) -> Credit:
    """Compare every trajectory's reward with those of its group.

        A[k, t] = (R_k - mean_g R) / (std_g R + 1e-6)      on action tokens, 0 elsewhere

    R is the sum of all rewards of the dialogue, shaping included. A group whose rewards are equal
    and a rollout whose peers were lost get 0; their tokens stay in the loss's mean.

    Args:
        batch: A scored batch; values are not read.
        settings: Not used.
        config: `group_ddof` chooses the standard deviation.

    Source:
        DeepSeekMath 2402.03300 (outcome supervision), as in verl's `compute_grpo_outcome_advantage`
        with the mask of action tokens.
    """
    del settings
    outcome = outcome_scores(batch, config)
    advantages_BT = torch.where(batch.action_mask_BT, outcome.scores_M[:, None], 0.0)
    return finish(batch, advantages_BT, group_diagnostics(batch, outcome))


def outcome_scores(batch: CreditBatch, config: LearnConfig) -> Compared:
    """Compare the sum of each trajectory's rewards within its group; one entry per row."""
    rewards_BT = torch.where(batch.action_mask_BT, batch.rewards_BT, 0.0)
    return compare(rewards_BT.double().sum(dim=1), batch.group_ids_B, ddof=config.group_ddof)


def finish(batch: CreditBatch, advantages_BT: Tensor, diagnostics: dict[str, float]) -> Credit:
    """Return credit without a critic, the penalty for leaving the reference added in place.

    The penalty acts at the token that caused it and on no other: nothing carries it back.
    """
    total_BT = advantages_BT + torch.where(batch.action_mask_BT, batch.kl_rewards_BT, 0.0)
    total_BT = total_BT.to(batch.rewards_BT.dtype)
    return Credit(total_BT, torch.zeros_like(total_BT), diagnostics)


def group_diagnostics(batch: CreditBatch, outcome: Compared) -> dict[str, float]:
    """Measure how much the groups can teach.

    Returns:
        `groups`, their number; `tied_groups`, the share in which all rollouts earned the same;
        `lone_rollouts`, the share of rollouts whose peers were all lost.
    """
    _, first_B, counts_G = batch.group_ids_B.unique(return_inverse=True, return_counts=True)
    tied_G = torch.zeros(len(counts_G), dtype=torch.bool, device=first_B.device)
    tied_G[first_B] = outcome.tied_M
    return {
        "groups": float(len(counts_G)),
        "tied_groups": float(tied_G.double().mean()),
        "lone_rollouts": float((counts_G == 1).sum()) / len(batch.group_ids_B),
    }
