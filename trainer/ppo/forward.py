"""Log-probabilities and entropies of action tokens, at the least cost.

The body of the model reads whole rows; the language-model head, often the dearest layer, is
applied only where the next token is an action. Rows are padded on the right and carry explicit
positions, so no attention mask is built. This module knows nothing about advantages or losses.

Dimensions: B trajectories, T tokens, N action tokens of all rows in reading order, H hidden,
V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from trainer.ppo.entropy import chosen_logprobs, entropy, tempered

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MAX_LOGITS = 2**24
"""Logits held at once, 64 MiB in float32; more are computed in chunks, and again for gradients."""


class ActionScores(NamedTuple):
    """What the policy thinks of the action tokens, in nats, at the sampling temperature."""

    logprobs_N: Tensor
    entropies_N: Tensor


def body_outputs(body: torch.nn.Module, ids_BT: Tensor, position_ids_BT: Tensor) -> Tensor:
    """Return the last hidden state at every token, shape (B, T, H).

    Args:
        body: A transformer without head.
        ids_BT: Token ids, padded on the right.
        position_ids_BT: Positions from 0 in every row.
    """
    return body(input_ids=ids_BT, position_ids=position_ids_BT, use_cache=False).last_hidden_state


def head_of(actor: PreTrainedModel) -> torch.nn.Linear:
    """Return the layer from hidden states to logits.

    Raises:
        ValueError: if the model has none, as one without a language-model head.
    """
    head = actor.get_output_embeddings()
    if not isinstance(head, torch.nn.Linear):
        raise ValueError(
            f"{type(actor).__name__} has no linear language-model head; load it as a causal "
            "language model"
        )
    return head


def score_actions(
    actor: PreTrainedModel,
    ids_BT: Tensor,
    position_ids_BT: Tensor,
    action_mask_BT: Tensor,
    *,
    temperature: float,
    differentiable_entropy: bool = False,
    max_logits: int = MAX_LOGITS,
) -> ActionScores:
    """Score each action token given everything before it.

    The probability of token t comes from the output at t - 1, so the first token cannot be an
    action.

    Args:
        actor: A causal language model with a linear head (see `check_head`).
        ids_BT: Token ids, padded on the right.
        position_ids_BT: Positions from 0 in every row.
        action_mask_BT: True on the tokens to score.
        temperature: Divides the logits, > 0; the sampler's own.
        differentiable_entropy: Whether a gradient through the entropies is wanted; without one
            they cost less.
        max_logits: Chunk size in logits.
    """
    hidden_BTH = body_outputs(actor.base_model, ids_BT, position_ids_BT)
    hidden_NH = hidden_BTH[:, :-1][action_mask_BT[:, 1:]]
    chosen_N = ids_BT[action_mask_BT]
    head = head_of(actor)

    def scores(hidden_CH: Tensor, chosen_C: Tensor) -> tuple[Tensor, Tensor]:
        logits_CV = tempered(head(hidden_CH), temperature)
        entropies_C = entropy(logits_CV if differentiable_entropy else logits_CV.detach())
        return chosen_logprobs(logits_CV, chosen_C), entropies_C

    vocabulary = head.out_features
    if len(chosen_N) * vocabulary <= max_logits:
        return ActionScores(*scores(hidden_NH, chosen_N))
    size = max(max_logits // vocabulary, 1)
    parts = [
        checkpoint(scores, hidden_CH, chosen_C, use_reentrant=False, preserve_rng_state=False)
        for hidden_CH, chosen_C in zip(hidden_NH.split(size), chosen_N.split(size), strict=True)
    ]
    return ActionScores(*(torch.cat(columns) for columns in zip(*parts, strict=True)))


@torch.no_grad()
def check_head(actor: PreTrainedModel) -> None:
    """Make sure that body and head, applied apart, give the model's own logits.

    Raises:
        ValueError: if the model does more between the two, such as capping or scaling its logits.
    """
    head = head_of(actor)
    device = head.weight.device
    ids_BT = torch.arange(2, device=device)[None]
    apart = head(body_outputs(actor.base_model, ids_BT, ids_BT))
    whole = actor(input_ids=ids_BT, position_ids=ids_BT, use_cache=False).logits
    if not torch.allclose(apart, whole, rtol=1e-3, atol=1e-3):
        gap = float((apart - whole).abs().max())
        raise ValueError(
            f"{type(actor).__name__} does more to its logits than a linear head (they differ by "
            f"{gap:.3g}); choose a model without logit scaling or soft-capping"
        )
