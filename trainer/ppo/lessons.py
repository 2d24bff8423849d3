"""From scores to lessons: what a batch teaches, as constants of the loss.

The penalty for leaving the reference, the credit of every action, whitening and the correction for
the sampler are settled here, once per update and over the whole batch; the gradient steps only
read. This module knows nothing about models or optimizers.

Dimensions: B trajectories, T tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.ppo import kl
from trainer.ppo.batch import PackedBatch
from trainer.ppo.credit import ESTIMATORS, Credit, CreditBatch
from trainer.ppo.importance import truncated_weights, within_gate
from trainer.ppo.learner import LearnConfig, LearnSettings
from trainer.ppo.scoring import Scores
from trainer.ppo.whiten import whiten


@dataclass(frozen=True)
class Lessons:
    """What a batch teaches: constants per token, laid out as `[rows, tokens]`."""

    ids_BT: Tensor
    position_ids_BT: Tensor
    action_mask_BT: Tensor
    lengths_B: tuple[int, ...]
    old_logprobs_BT: Tensor
    advantages_BT: Tensor
    weights_BT: Tensor
    """Sampler-to-learner importance weights."""
    actor_mask_BT: Tensor
    """Action tokens that the actor learns from: all but those of trajectories that the gate for
    older weights dropped. The critic learns from all."""
    reference_logprobs_BT: Tensor | None
    old_values_BT: Tensor | None
    returns_BT: Tensor

    def rows(self, rows: Sequence[int]) -> Lessons:
        """Return some rows, cut to the longest of them."""
        width = max(self.lengths_B[row] for row in rows)
        at = torch.tensor(list(rows), device=self.ids_BT.device)

        def cut(values_BT: Tensor) -> Tensor:
            return values_BT[at, :width]

        return Lessons(
            ids_BT=cut(self.ids_BT),
            position_ids_BT=cut(self.position_ids_BT),
            action_mask_BT=cut(self.action_mask_BT),
            lengths_B=tuple(self.lengths_B[row] for row in rows),
            old_logprobs_BT=cut(self.old_logprobs_BT),
            advantages_BT=cut(self.advantages_BT),
            weights_BT=cut(self.weights_BT),
            actor_mask_BT=cut(self.actor_mask_BT),
            reference_logprobs_BT=_maybe(cut, self.reference_logprobs_BT),
            old_values_BT=_maybe(cut, self.old_values_BT),
            returns_BT=cut(self.returns_BT),
        )

    @property
    def num_actions(self) -> int:
        """Action tokens in these rows."""
        return int(self.action_mask_BT.sum())

    @property
    def num_actor_actions(self) -> int:
        """Those of them that the actor learns from."""
        return int(self.actor_mask_BT.sum())


def credit_batch(
    batch: PackedBatch,
    scores: Scores,
    settings: LearnSettings,
    config: LearnConfig,
    *,
    seed: int = 0,
) -> CreditBatch:
    """Gather what an estimator may look at; the KL penalty lies on action tokens alone.

    Args:
        batch: Packed trajectories.
        scores: What the models think of them.
        settings: `kl_coeff` is live.
        config: `kl_mode` holds for the run.
        seed: For methods that draw; another one at every update.
    """
    kl_rewards_BT = torch.zeros_like(scores.old_logprobs_BT)
    if scores.reference_logprobs_BT is not None and config.kl_mode == "reward":
        drift_BT = kl.k1(scores.old_logprobs_BT, scores.reference_logprobs_BT)
        kl_rewards_BT = torch.where(batch.action_mask_BT, -settings.kl_coeff * drift_BT, 0.0)
    gains_BT = informed_BT = None
    if scores.counterfactual is not None:
        informed_BT = scores.counterfactual.scored_BT
        gaps_BT = scores.old_logprobs_BT - scores.counterfactual.logprobs_BT
        gains_BT = torch.where(informed_BT, gaps_BT, 0.0)
    return CreditBatch(
        rewards_BT=batch.rewards_BT.to(kl_rewards_BT.dtype),
        kl_rewards_BT=kl_rewards_BT,
        action_mask_BT=batch.action_mask_BT,
        turn_ids_BT=batch.turn_ids_BT,
        segment_ids_BT=batch.segment_ids_BT,
        group_ids_B=batch.group_ids_B,
        values_BT=scores.values_BT,
        bootstrap_B=scores.bootstrap_B,
        reactions=batch.reactions,
        logprob_gains_BT=gains_BT,
        informed_BT=informed_BT,
        seed=seed,
    )


def lessons_from(
    batch: PackedBatch, scores: Scores, credit: Credit, config: LearnConfig, *, stale: bool = False
) -> Lessons:
    """Turn credit into the constants of the loss.

    Args:
        batch: Packed trajectories.
        scores: What the models think of them.
        credit: What each action earned.
        config: Caps and bounds.
        stale: Whether older weights than the learner's wrote the batch.
    """
    actor_mask_BT = batch.action_mask_BT
    if stale and config.stale_gate is not None:
        kept_B = within_gate(
            scores.old_logprobs_BT,
            batch.rollout_logprobs_BT,
            actor_mask_BT,
            bound=config.stale_gate,
        )
        actor_mask_BT = actor_mask_BT & kept_B[:, None]
    advantages_BT = credit.advantages_BT
    if config.whiten and not ESTIMATORS[config.credit].needs_groups:
        advantages_BT = whiten(advantages_BT, batch.action_mask_BT)
    return Lessons(
        ids_BT=batch.ids_BT,
        position_ids_BT=batch.position_ids_BT,
        action_mask_BT=batch.action_mask_BT,
        lengths_B=batch.lengths_B,
        old_logprobs_BT=scores.old_logprobs_BT,
        advantages_BT=advantages_BT,
        weights_BT=truncated_weights(
            scores.old_logprobs_BT, batch.rollout_logprobs_BT, cap=config.tis_cap
        ),
        actor_mask_BT=actor_mask_BT,
        reference_logprobs_BT=scores.reference_logprobs_BT,
        old_values_BT=scores.values_BT,
        returns_BT=credit.returns_BT,
    )


def _maybe(cut: Callable[[Tensor], Tensor], values: Tensor | None) -> Tensor | None:
    """Cut what is there."""
    return None if values is None else cut(values)
