"""InfoPO: an action is also worth what its feedback taught, and more so while rewards tell little.

What feedback taught is how much likelier the next action became by it. Turns are compared by
explicit masks, so a gain of exactly 0 counts. This module knows nothing about how the
likelihoods were found (`trainer.ppo.counterfactual`).

Dimensions: B trajectories, T tokens, Q most turns of one trajectory, M credited turns, N action
tokens of all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from trainer.ppo.credit_options import InfoPOOptions
from trainer.ppo.estimator import Credit, CreditBatch
from trainer.ppo.group_norm import EPSILON, Compared, compare
from trainer.ppo.grpo import finish, group_diagnostics, outcome_scores
from trainer.ppo.learner import LearnConfig, LearnSettings
from trainer.ppo.turn_level import TurnLayout, turn_layout


class TurnGains(NamedTuple):
    """What the feedback after each turn was worth."""

    gains_BQ: Tensor
    """Mean log-ratio over the next turn's tokens, in nats; may be negative."""
    credited_BQ: Tensor
    """True where a turn had feedback and a next turn that read it."""


def estimate_infopo(batch: CreditBatch, settings: LearnSettings, config: LearnConfig) -> Credit:
    """Add the normalised information gain of each turn, gated by the spread of rewards.

        info_t = mean_k [ log pi(y_k | h_t, o_t, y_<k) - log pi(y_k | h_t, placeholder, y_<k) ]
        A_info = (info - mean_g info) / (std_g info + 1e-6)       over the group's credited turns
        A      = A_ext + beta * sigmoid(-std_g(R) / temperature) * A_info

    y is the next turn, teacher forced; the gain belongs to turn t, whose action brought the
    feedback o_t about. A turn without feedback or without a next turn has A_info = 0, and so has a
    rollout whose peers were lost.

    `infopo.compat` follows the public code instead: gains are divided by the length of the
    credited action, mean and deviation run over its nonzero *tokens*, and A_info is scaled by
    min(1, max(std A_ext, 1) / std A_info) over the batch.

    Args:
        batch: A scored batch with `logprob_gains_BT` and `informed_BT`.
        settings: Not used.
        config: `infopo` and `group_ddof`.

    Raises:
        ValueError: if the batch was scored without masked feedback.

    Source:
        InfoPO 2603.00656; kfq20/InfoPO `intrinsic_reward.py` and `core_algos.py` for `compat`.
    """
    del settings
    if batch.logprob_gains_BT is None or batch.informed_BT is None:
        raise ValueError("credit 'infopo' needs masked feedback, and the batch was scored without")
    options = config.infopo
    layout = turn_layout(batch.action_mask_BT, batch.turn_ids_BT)
    outcome = outcome_scores(batch, config)
    turns = turn_gains(batch.logprob_gains_BT, batch.informed_BT, layout)
    external_BT = torch.where(batch.action_mask_BT, outcome.scores_M[:, None], 0.0)
    normalise = _normalised_by_token if options.compat else _normalised_by_turn
    info_BT = normalise(turns, batch, layout, config.group_ddof)
    if options.compat:
        info_BT = info_BT * _bounded_scale(external_BT, info_BT, batch.action_mask_BT)
    gate_B = variance_gate(outcome, options)
    weighted_BT = options.beta * gate_B[:, None] * info_BT
    external, internal = float(external_BT.abs().sum()), float(weighted_BT.abs().sum())
    credited = max(int(turns.credited_BQ.sum()), 1)
    diagnostics = group_diagnostics(batch, outcome) | {
        "information_gain": float(turns.gains_BQ[turns.credited_BQ].sum()) / credited,
        "information_share": internal / max(external + internal, 1e-12),
        "gate_mean": float(gate_B.mean()),
        "turns_credited": float(turns.credited_BQ.sum()),
    }
    return finish(batch, external_BT + weighted_BT, diagnostics)


def turn_gains(gains_BT: Tensor, informed_BT: Tensor, layout: TurnLayout) -> TurnGains:
    """Credit the mean gain of every informed turn to the turn before it.

    Args:
        gains_BT: Log-ratio of each action token, in nats.
        informed_BT: Which action tokens have one.
        layout: Where the turns lie.
    """
    rows, turns = layout.shape
    sums = torch.zeros(rows * turns, dtype=torch.float64, device=gains_BT.device)
    counts = torch.zeros_like(sums)
    told_N = informed_BT.flatten()[layout.at_N].double()
    sums.index_add_(0, layout.cell_N, gains_BT.flatten()[layout.at_N].double() * told_N)
    counts.index_add_(0, layout.cell_N, told_N)
    means_BQ = (sums / counts.clamp(min=1)).view(rows, turns)
    nothing_B1 = means_BQ.new_zeros(rows, 1)
    gains_BQ = torch.cat([means_BQ[:, 1:], nothing_B1], dim=1)
    credited_BQ = torch.cat([counts.view(rows, turns)[:, 1:], nothing_B1], dim=1) > 0
    return TurnGains(gains_BQ, credited_BQ)


def variance_gate(outcome: Compared, options: InfoPOOptions) -> Tensor:
    """Return sigmoid(-std_g(R) / temperature) of each row: .5 where rewards do not differ."""
    return torch.sigmoid(-outcome.std_M / options.gate_temperature)


def _normalised_by_turn(
    turns: TurnGains, batch: CreditBatch, layout: TurnLayout, ddof: int
) -> Tensor:
    """Compare credited turns within their group and give each token the number of its turn."""
    groups_BQ = batch.group_ids_B[:, None].expand(layout.shape)
    compared = compare(turns.gains_BQ[turns.credited_BQ], groups_BQ[turns.credited_BQ], ddof=ddof)
    scores_BQ = torch.zeros_like(turns.gains_BQ)
    scores_BQ[turns.credited_BQ] = compared.scores_M
    return torch.where(_has_peers(batch)[:, None], _spread(scores_BQ, batch, layout), 0.0)


def _normalised_by_token(
    turns: TurnGains, batch: CreditBatch, layout: TurnLayout, ddof: int
) -> Tensor:
    """Compare the tokens of credited turns, zeros left out, as the public code does."""
    lengths_BQ = torch.zeros_like(turns.gains_BQ)
    lengths_BQ.view(-1).index_add_(
        0, layout.cell_N, torch.ones(len(layout.cell_N), dtype=torch.float64).to(lengths_BQ.device)
    )
    per_token_BT = _spread(
        torch.where(turns.credited_BQ, turns.gains_BQ / lengths_BQ.clamp(min=1), 0.0), batch, layout
    )
    nonzero_BT = per_token_BT != 0
    groups_BT = batch.group_ids_B[:, None].expand(per_token_BT.shape)
    scores_BT = torch.zeros_like(per_token_BT)
    scores_BT[nonzero_BT] = compare(
        per_token_BT[nonzero_BT], groups_BT[nonzero_BT], ddof=ddof
    ).scores_M
    return torch.where(_has_peers(batch)[:, None], scores_BT, 0.0)


def _bounded_scale(external_BT: Tensor, info_BT: Tensor, mask_BT: Tensor) -> float:
    """Return the public code's factor: it shrinks a wide information advantage, never widens."""
    if int(mask_BT.sum()) < 2:
        return 1.0
    external, info = (float(x_BT[mask_BT].std()) + EPSILON for x_BT in (external_BT, info_BT))
    return min(1.0, max(external, 1.0) / info)


def _has_peers(batch: CreditBatch) -> Tensor:
    """Tell which rows have another rollout in their group."""
    _, at_B, counts_G = batch.group_ids_B.unique(return_inverse=True, return_counts=True)
    return counts_G[at_B] > 1


def _spread(values_BQ: Tensor, batch: CreditBatch, layout: TurnLayout) -> Tensor:
    """Give each action token the number of its turn; 0 elsewhere."""
    tokens_BT = values_BQ.new_zeros(batch.action_mask_BT.shape)
    tokens_BT.view(-1)[layout.at_N] = values_BQ.flatten()[layout.cell_N]
    return tokens_BT
