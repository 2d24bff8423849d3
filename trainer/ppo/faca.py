"""Faca: what the user's next reaction says about a segment, beside the dialogue's outcome.

A segment is everything the agent does between two user turns; the private strategy of the reply
that ends it counts -1, 0 or +1 and is compared with the reactions to the same segment of the
group's other rollouts. This module knows nothing about labels, words or models.

Dimensions: B trajectories, T tokens, S most segments of one trajectory, M compared segments.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from trainer import seeds
from trainer.ppo.batch import Reactions
from trainer.ppo.credit_options import FacaOptions
from trainer.ppo.estimator import Credit, CreditBatch
from trainer.ppo.group_norm import compare
from trainer.ppo.grpo import finish, group_diagnostics, outcome_scores
from trainer.ppo.learner import LearnConfig, LearnSettings


class Signal(NamedTuple):
    """Reactions as one mode of the method sees them."""

    polarity_BS: Tensor
    counted_BS: Tensor
    """True where the segment takes part in the comparison."""


def estimate_faca(batch: CreditBatch, settings: LearnSettings, config: LearnConfig) -> Credit:
    """Add the reaction to each segment to the outcome's advantage.

        A_o[k]    = (R_k - mean_g R) / (std_g R + 1e-6)
        A_p[k, q] = (f[k, q] - mean_I f) / (std_I f + 1e-6)      0 if |I| < 2 or all equal
        A[k, q]   = A_o[k] + weight * A_p[k, q]                  on every action token of segment q

    f is the polarity of the reply right after segment q, and I(g, q) are the group's rollouts that
    reach segment q and were answered. A segment without an answer, such as the last of a dialogue
    that a limit cut, has A_p = 0; no reaction flows back to earlier segments. With mode `off` or
    weight 0 the result is GRPO's to the last bit.

    Args:
        batch: A scored batch with reactions; `seed` feeds the mode `random` alone.
        settings: Not used.
        config: `faca`, and `group_ddof` for both standard deviations.

    Raises:
        ValueError: if the batch carries no reactions.

    Source:
        Faca, sections 3.2 to 3.3 and table 1.
    """
    del settings
    if batch.reactions is None:
        raise ValueError("credit 'faca' needs reactions, and the batch has none")
    options = config.faca
    outcome = outcome_scores(batch, config)
    advantages_BT = torch.where(batch.action_mask_BT, outcome.scores_M[:, None], 0.0)
    diagnostics = group_diagnostics(batch, outcome) | _reaction_shares(batch.reactions)
    if options.mode == "off":
        return finish(batch, advantages_BT, diagnostics)
    process_BS = process_scores(batch, options, ddof=config.group_ddof)
    process_BT = options.weight * _on_tokens(process_BS, batch)
    outcome_sum, process_sum = (float(x.abs().sum()) for x in (advantages_BT, process_BT))
    diagnostics |= {
        "process_share": process_sum / max(outcome_sum + process_sum, 1e-12),
        "process_coverage": float((process_BT != 0).sum())
        / max(int(batch.action_mask_BT.sum()), 1),
    }
    return finish(batch, advantages_BT + process_BT, diagnostics)


def process_scores(batch: CreditBatch, options: FacaOptions, *, ddof: int) -> Tensor:
    """Return A_p of every segment, shape (B, S); 0 where it has none.

    Raises:
        ValueError: if the batch carries no reactions.
    """
    if batch.reactions is None:
        raise ValueError("credit 'faca' needs reactions, and the batch has none")
    signal = reaction_signal(batch.reactions, options, seed=batch.seed)
    segments = signal.polarity_BS.shape[1]
    cell_BS = batch.group_ids_B[:, None] * segments + torch.arange(
        segments, device=batch.group_ids_B.device
    )
    scores_BS = torch.zeros_like(signal.polarity_BS)
    compared = compare(signal.polarity_BS[signal.counted_BS], cell_BS[signal.counted_BS], ddof=ddof)
    scores_BS[signal.counted_BS] = compared.scores_M
    return scores_BS


def reaction_signal(reactions: Reactions, options: FacaOptions, *, seed: int) -> Signal:
    """Return the reactions as the mode and the choice on invalid labels have them.

    Args:
        reactions: What the users did.
        options: `mode` and `invalid`.
        seed: Source of the signs of `random`; a zero stays zero, so coverage does not change.
    """
    counted_BS = reactions.heard_BS
    if options.invalid == "exclude":
        counted_BS = counted_BS & reactions.valid_BS
    polarity_BS = torch.where(counted_BS, reactions.polarity_BS.double(), 0.0)
    if options.mode == "shifted":
        # Each reaction pays the segment that follows it, which it cannot be about.
        polarity_BS = polarity_BS.roll(1, dims=1)
        counted_BS = counted_BS.roll(1, dims=1) & reactions.exists_BS
        if counted_BS.shape[1]:
            counted_BS[:, 0] = False
    elif options.mode == "random":
        rows, segments = polarity_BS.shape
        signs = [
            [
                1.0 if seeds.uniform(seed, "polarity", row, at) < 0.5 else -1.0
                for at in range(segments)
            ]
            for row in range(rows)
        ]
        polarity_BS = polarity_BS * polarity_BS.new_tensor(signs).view(rows, segments)
    return Signal(torch.where(counted_BS, polarity_BS, 0.0), counted_BS)


def _on_tokens(scores_BS: Tensor, batch: CreditBatch) -> Tensor:
    """Give each action token the number of its segment."""
    if not scores_BS.shape[1]:
        return torch.zeros_like(batch.rewards_BT, dtype=scores_BS.dtype)
    known_BT = batch.action_mask_BT & (batch.segment_ids_BT < scores_BS.shape[1])
    at_BT = torch.where(known_BT, batch.segment_ids_BT, 0)
    return torch.where(known_BT, scores_BS.gather(1, at_BT), 0.0)


def _reaction_shares(reactions: Reactions) -> dict[str, float]:
    """Measure how the users took it: shares of all reactions heard."""
    heard = max(int(reactions.heard_BS.sum()), 1)
    return {
        "reactions_positive": float((reactions.polarity_BS > 0).sum()) / heard,
        "reactions_negative": float((reactions.polarity_BS < 0).sum()) / heard,
        "reactions_invalid": float((reactions.heard_BS & ~reactions.valid_BS).sum()) / heard,
    }
