"""Credit: how much better than expected each action token was, behind one signature.

Every method, with a critic or without, takes a scored batch and returns advantages and returns.
A new one is a file with its source and its numbers, and a line in `ESTIMATORS`. This module knows
nothing about models, losses or optimizers.

Dimensions: B trajectories, T tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from trainer.ppo.advantages import Advantages, Discount, token_level
from trainer.ppo.bilevel import bilevel
from trainer.ppo.learner import LearnConfig, LearnSettings
from trainer.ppo.turn_level import turn_level


@dataclass(frozen=True)
class CreditBatch:
    """What an estimator may look at; all tensors are constants."""

    rewards_BT: Tensor
    """The world's rewards, nonzero on action tokens only."""
    kl_rewards_BT: Tensor
    """Minus the penalty for leaving the reference policy; 0 where there is none."""
    action_mask_BT: Tensor
    turn_ids_BT: Tensor
    """Agent turn of each action token, nondecreasing; -1 elsewhere."""
    segment_ids_BT: Tensor
    """Segment between two user turns of each action token; -1 elsewhere."""
    group_ids_B: Tensor
    """Equal for rollouts of one task in one step, counted from 0."""
    values_BT: Tensor | None
    """The critic's estimate of the state before each token; None for a method without critic."""
    bootstrap_B: Tensor | None
    """Value after the last action of a truncated row, 0 for a terminated one."""


@dataclass(frozen=True)
class Credit:
    """What an estimator found."""

    advantages_BT: Tensor
    """Per action token, in the units of reward unless the method normalises; 0 elsewhere."""
    returns_BT: Tensor
    """The critic's targets, in the units of reward; 0 elsewhere."""
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    """The method's own numbers; the update reports them under `credit_<name>`."""


@dataclass(frozen=True)
class Estimator:
    """One method of credit."""

    estimate: Callable[[CreditBatch, LearnSettings, LearnConfig], Credit]
    needs_critic: bool
    """Whether `values_BT` must be there, and a critic be trained."""


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
}


def _fraction(which_BT: Tensor, mask_BT: Tensor) -> float:
    """Return the share of masked tokens for which the condition holds."""
    return float((which_BT & mask_BT).sum()) / max(int(torch.count_nonzero(mask_BT)), 1)
