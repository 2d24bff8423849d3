"""The whole loss of actor and critic over one forward pass of a minibatch.

Every loss is a sum over the pass's action tokens divided by the action tokens of the whole
minibatch, so gradients add up to the same number however the minibatch is cut. Every learner, on
one process or many, trains on these two functions.

Dimensions: B rows of the pass, T tokens, N its action tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from trainer.ppo import kl
from trainer.ppo.critic import Critic, values_before
from trainer.ppo.forward import score_actions
from trainer.ppo.lessons import Lessons
from trainer.ppo.losses import clipped_surrogate, token_mean, value_loss

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class ActorTerms:
    """How the actor's loss is put together."""

    clip_low: float
    clip_high: float
    dual_clip: float
    entropy_coeff: float
    kl_loss_coeff: float
    """Weight of k2 in the loss; 0 where the penalty sits in the reward."""
    temperature: float


def actor_loss(
    actor: PreTrainedModel, lessons: Lessons, terms: ActorTerms, *, total_actions: int
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the actor's loss on these rows, as a share of the minibatch's token-mean.

        L = sum_t [ w_t L_clip,t - c_ent H_t + c_kl (pi/pi_old)_t k2_t ] / N_minibatch

    Only tokens of `lessons.actor_mask_BT` count, in the sum and in N.

    Args:
        actor: The policy being trained.
        lessons: The rows of one pass.
        terms: Clip ranges and coefficients.
        total_actions: Those tokens in the whole minibatch, over all passes and ranks, >= 1.

    Returns:
        The loss, and sums over the pass's action tokens by name (`ratio_log_max` is a maximum).
    """
    mask_BT = lessons.action_mask_BT
    scores = score_actions(
        actor,
        lessons.ids_BT,
        lessons.position_ids_BT,
        mask_BT,
        temperature=terms.temperature,
        differentiable_entropy=terms.entropy_coeff != 0.0,
    )
    old_N = lessons.old_logprobs_BT[mask_BT]
    surrogate = clipped_surrogate(
        scores.logprobs_N,
        old_N,
        lessons.advantages_BT[mask_BT],
        clip_low=terms.clip_low,
        clip_high=terms.clip_high,
        dual_clip=terms.dual_clip,
    )
    counts_N = lessons.actor_mask_BT[mask_BT]
    policy_N = torch.where(counts_N, lessons.weights_BT[mask_BT] * surrogate.loss_N, 0.0)
    loss_N = policy_N
    if terms.entropy_coeff:
        loss_N = loss_N - terms.entropy_coeff * scores.entropies_N
    if terms.kl_loss_coeff and lessons.reference_logprobs_BT is not None:
        # Tokens come from the old policy: the detached ratio makes the mean one over the new.
        reference_N = lessons.reference_logprobs_BT[mask_BT]
        penalty_N = surrogate.ratio_N.detach() * kl.k2(scores.logprobs_N, reference_N)
        loss_N = loss_N + terms.kl_loss_coeff * penalty_N
    loss_N = torch.where(counts_N, loss_N, 0.0)
    with torch.no_grad():
        sums = {
            "policy_loss": policy_N.sum(),
            "clip_fraction": surrogate.clipped_N.sum(),
            "policy_kl": kl.k3(old_N, scores.logprobs_N).sum(),
            "ratio_log_max": (scores.logprobs_N - old_N).abs().max(),
        }
    return token_mean(loss_N, total=total_actions), sums


def critic_loss(
    critic: Critic, lessons: Lessons, *, value_clip: float | None, total_actions: int
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the critic's loss on these rows, as a share of the minibatch's token-mean.

    Args:
        critic: The critic being trained.
        lessons: The rows of one pass, with old values.
        value_clip: How far a value may move, in the units of reward; None for no limit.
        total_actions: Action tokens of the whole minibatch, over all passes and ranks.

    Raises:
        ValueError: if the rows carry no old values.
    """
    if lessons.old_values_BT is None:
        raise ValueError("a critic can only learn from rows that a critic has scored")
    mask_BT = lessons.action_mask_BT
    outputs_BT = critic(lessons.ids_BT, lessons.position_ids_BT)
    losses_N = value_loss(
        values_before(outputs_BT)[mask_BT],
        lessons.old_values_BT[mask_BT],
        lessons.returns_BT[mask_BT],
        clip=value_clip,
    )
    loss = token_mean(losses_N, total=total_actions)
    return loss, {"value_loss": losses_N.detach().sum()}
