"""Credit: how much better than expected each action token was, behind one signature.

Every method, with a critic or without, takes a scored batch and returns advantages and returns.
A new one is a file with its source and its numbers, and a line in `ESTIMATORS`. This module knows
nothing about models, losses or optimizers.

Dimensions: B trajectories, T tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from trainer.ppo.advantages import Advantages, Discount, token_level
from trainer.ppo.bilevel import bilevel
from trainer.ppo.estimator import Credit, CreditBatch, Estimator
from trainer.ppo.faca import estimate_faca
from trainer.ppo.grpo import estimate_grpo
from trainer.ppo.infopo import estimate_infopo
from trainer.ppo.learner import LearnConfig, LearnSettings
from trainer.ppo.turn_level import turn_level
from trainer.ppo.userrl import estimate_userrl

__all__ = ["ESTIMATORS", "UNITS", "Credit", "CreditBatch", "Estimator", "estimate_gae"]


UNITS: Mapping[str, Callable[..., Advantages]] = {
    "token": token_level,
    "turn": turn_level,
    "bilevel": bilevel,
}


def estimate_gae(batch: CreditBatch, settings: LearnSettings, config: LearnConfig) -> Credit:
    """Estimate credit by GAE over action tokens, turns, or both.

    Args:
        batch: A scored batch with values.
        settings: `gamma` and `gae_lambda` are live.
        config: `gae_unit`, `gae_lambda_critic` and `gamma_turn` hold for the run.

    Raises:
        ValueError: if the batch has no values, or the unit is not one of `UNITS`.
    """
    if batch.values_BT is None:
        raise ValueError("credit 'gae' needs a critic's values, and the batch has none")
    if config.gae_unit not in UNITS:
        raise ValueError(
            f"learner.gae_unit is {config.gae_unit!r}; it must be one of {', '.join(UNITS)}"
        )
    found = UNITS[config.gae_unit](
        batch.rewards_BT,
        batch.values_BT,
        batch.action_mask_BT,
        batch.turn_ids_BT,
        discount=Discount(
            settings.gamma, settings.gae_lambda, config.gae_lambda_critic, config.gamma_turn
        ),
        bootstrap_B=batch.bootstrap_B,
        kl_rewards_BT=batch.kl_rewards_BT,
    )
    mask_BT = batch.action_mask_BT
    return Credit(
        found.advantages_BT,
        found.returns_BT,
        {"positive_fraction": _fraction(found.advantages_BT > 0, mask_BT)},
    )


ESTIMATORS: Mapping[str, Estimator] = {
    "gae": Estimator(estimate_gae, needs_critic=True),
    "grpo": Estimator(estimate_grpo, needs_critic=False, needs_groups=True),
    "faca": Estimator(estimate_faca, needs_critic=False, needs_groups=True),
    "userrl": Estimator(estimate_userrl, needs_critic=False, needs_groups=True),
    "infopo": Estimator(
        estimate_infopo, needs_critic=False, needs_groups=True, needs_masked_feedback=True
    ),
}


def _fraction(which_BT: Tensor, mask_BT: Tensor) -> float:
    """Return the share of masked tokens for which the condition holds."""
    return float((which_BT & mask_BT).sum()) / max(int(torch.count_nonzero(mask_BT)), 1)
