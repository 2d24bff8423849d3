"""The whole loss of actor and critic over one forward pass of a minibatch.

Every loss is a sum over the pass's action tokens divided by the action tokens of the whole
minibatch, so gradients add up to the same number however the minibatch is cut. Every learner, on
one process or many, trains on these two functions.

Dimensions: B rows of the pass, T tokens, N its action tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from trainer.ppo import kl
from trainer.ppo.critic import Critic, values_before
from trainer.ppo.forward import score_actions
from trainer.ppo.losses import clipped_surrogate, value_loss

if TYPE_CHECKING:
    from transformers import PreTrainedModel


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
    reference_logprobs_BT: Tensor | None
    old_values_BT: Tensor | None
    returns_BT: Tensor

    def rows(self, rows: list[int] | tuple[int, ...]) -> Lessons:
        """Return some rows, cut to the longest of them."""
        width = max(self.lengths_B[row] for row in rows)
        at = torch.tensor(rows, device=self.ids_BT.device)

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
            reference_logprobs_BT=_maybe(cut, self.reference_logprobs_BT),
            old_values_BT=_maybe(cut, self.old_values_BT),
            returns_BT=cut(self.returns_BT),
        )

    @property
    def num_actions(self) -> int:
        """Action tokens in these rows."""
        return int(self.action_mask_BT.sum())


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

    Args:
        actor: The policy being trained.
        lessons: The rows of one pass.
        terms: Clip ranges and coefficients.
        total_actions: Action tokens of the whole minibatch, over all passes and ranks.

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
    policy_sum = (lessons.weights_BT[mask_BT] * surrogate.loss_N).sum()
    loss_sum = policy_sum
    if terms.entropy_coeff:
        loss_sum = loss_sum - terms.entropy_coeff * scores.entropies_N.sum()
    if terms.kl_loss_coeff and lessons.reference_logprobs_BT is not None:
        # Tokens come from the old policy: the detached ratio makes the mean one over the new.
        reference_N = lessons.reference_logprobs_BT[mask_BT]
        penalty_N = surrogate.ratio_N.detach() * kl.k2(scores.logprobs_N, reference_N)
        loss_sum = loss_sum + terms.kl_loss_coeff * penalty_N.sum()
    with torch.no_grad():
        sums = {
            "policy_loss": policy_sum.detach(),
            "clip_fraction": surrogate.clipped_N.sum(),
            "policy_kl": kl.k3(old_N, scores.logprobs_N).sum(),
            "ratio_log_max": (scores.logprobs_N - old_N).abs().max(),
        }
    return loss_sum / total_actions, sums


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
    loss_sum = losses_N.sum()
    return loss_sum / total_actions, {"value_loss": loss_sum.detach()}


def _maybe(cut: Callable[[Tensor], Tensor], values: Tensor | None) -> Tensor | None:
    """Cut what is there."""
    return None if values is None else cut(values)
