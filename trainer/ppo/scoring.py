"""Scoring: what actor, critic and reference think of a batch before anything is learnt from it.

Log-probabilities are computed by the learner, not taken from the sampler, so that the ratio of the
first minibatch is 1; the gap to the sampler is measured and corrected apart. Nothing here changes
a weight.

Dimensions: B trajectories, T tokens, N action tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from trainer.ppo.batch import PackedBatch
from trainer.ppo.counterfactual import Counterfactual, without_feedback
from trainer.ppo.critic import Critic, bootstrap_values, values_before
from trainer.ppo.forward import score_actions
from trainer.ppo.peers import ALONE, Peers

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Scores:
    """Constants of one update; 0 off the action tokens."""

    old_logprobs_BT: Tensor
    """Under the learner's actor at the start of the update, at the sampling temperature."""
    entropies_BT: Tensor
    reference_logprobs_BT: Tensor | None
    values_BT: Tensor | None
    """The critic's estimate of the state before each token."""
    bootstrap_B: Tensor | None
    """Value after the last action of a truncated row, else 0."""
    counterfactual: Counterfactual | None = None
    """The actions without the feedback before them; None where nobody asked."""


@torch.no_grad()
def score(
    batch: PackedBatch,
    actor: PreTrainedModel,
    critic: Critic | None,
    reference: PreTrainedModel | None,
    *,
    temperature: float,
    bootstrap_truncated: bool,
    max_tokens: int,
    masked_feedback: bool = False,
    peers: Peers = ALONE,
) -> Scores:
    """Score every action token of a batch.

    Args:
        batch: Packed trajectories.
        actor: The policy.
        critic: None for a method without one.
        reference: The policy to stay near; None where nobody asks.
        temperature: The sampling temperature; values are not divided by it.
        bootstrap_truncated: Whether a cut episode is worth what the critic expects after it,
            rather than 0.
        max_tokens: Padded tokens of one forward pass; it does not change the result.
        masked_feedback: Whether the actions are scored without the feedback before them too.
        peers: Who shares the passes; all get the whole batch's scores.

    Raises:
        ValueError: if masked feedback is asked for and the trajectories hold none.
        FloatingPointError: if a model gives a number that is not finite.
    """
    logprobs_BT = torch.zeros_like(batch.rollout_logprobs_BT, dtype=_precision(actor))
    entropies_BT = torch.zeros_like(logprobs_BT)
    reference_BT = None if reference is None else torch.zeros_like(logprobs_BT)
    outputs_BT = None if critic is None else torch.zeros_like(logprobs_BT)
    for rows, counts in peers.passes(batch.lengths_B, max_tokens=max_tokens):
        width = max(batch.lengths_B[row] for row in rows)
        at = torch.tensor(rows, device=batch.ids_BT.device)
        ids_RW, positions_RW = batch.ids_BT[at, :width], batch.position_ids_BT[at, :width]
        mask_RW = batch.action_mask_BT[at, :width]
        scored = partial(
            score_actions,
            ids_BT=ids_RW,
            position_ids_BT=positions_RW,
            action_mask_BT=mask_RW,
            temperature=temperature,
        )
        found = peers.visit(actor, scored)
        values_RW = None
        if critic is not None:
            values_RW = peers.visit(critic, _valued(ids_RW, positions_RW))
        if not counts:
            continue
        logprobs_BT[at, :width] = _placed(found.logprobs_N, mask_RW).to(logprobs_BT.dtype)
        entropies_BT[at, :width] = _placed(found.entropies_N, mask_RW).to(logprobs_BT.dtype)
        if reference is not None and reference_BT is not None:
            near = scored(reference)
            reference_BT[at, :width] = _placed(near.logprobs_N, mask_RW).to(logprobs_BT.dtype)
        if values_RW is not None and outputs_BT is not None:
            outputs_BT[at, :width] = values_RW.to(outputs_BT.dtype)
    for grid_BT in (logprobs_BT, entropies_BT, reference_BT, outputs_BT):
        if grid_BT is not None:
            grid_BT.copy_(peers.total(grid_BT))

    values_BT = bootstrap_B = None
    if outputs_BT is not None:
        values_BT = torch.where(batch.action_mask_BT, values_before(outputs_BT), 0.0)
        lengths_B = torch.tensor(batch.lengths_B, device=outputs_BT.device)
        bootstrap_B = bootstrap_values(
            outputs_BT, lengths_B, batch.truncated_B & bootstrap_truncated
        )
    counterfactual = None
    if masked_feedback:
        counterfactual = without_feedback(
            batch, actor, temperature=temperature, max_tokens=max_tokens, peers=peers
        )
    scores = Scores(logprobs_BT, entropies_BT, reference_BT, values_BT, bootstrap_B, counterfactual)
    _check_finite(scores)
    return scores


def _valued(ids_RW: Tensor, positions_RW: Tensor) -> Callable[[Critic], Tensor]:
    """Return what a critic is to compute over one pass."""
    return lambda critic: critic(ids_RW, positions_RW)


def _placed(values_N: Tensor, mask_RW: Tensor) -> Tensor:
    """Lay one number per action token out on the padded grid."""
    return values_N.new_zeros(mask_RW.shape).masked_scatter(mask_RW, values_N)


def _precision(model: torch.nn.Module) -> torch.dtype:
    """Return the dtype of log-probabilities and values: the model's, but at least float32."""
    return torch.promote_types(next(model.parameters()).dtype, torch.float32)


def _check_finite(scores: Scores) -> None:
    """Stop before a broken number reaches a gradient."""
    for name, values in vars(scores).items():
        if isinstance(values, Tensor) and not bool(values.isfinite().all()):
            raise FloatingPointError(
                f"scoring the batch gave {name.removesuffix('_BT').removesuffix('_B')} that are "
                "not finite; the weights are as they were, go back to the last good checkpoint"
            )
