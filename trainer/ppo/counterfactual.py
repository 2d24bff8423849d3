"""What the policy would have said had nobody answered: one forward pass for all turns of a batch.

Every turn after the first is scored a second time with placeholder tokens in place of the feedback
right before it, and with everything earlier as it was. A row carries its real tokens once and
every such alternative as a branch; a branch sees the real tokens up to where it leaves them, and
itself. So all counterfactuals of a batch cost one pass over at most about twice its tokens. This
module knows nothing about credit.

Dimensions: B trajectories, T tokens, R rows of one pass, W tokens of its longest row with branches,
N scored tokens, H hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from trainer.ppo.batch import PAD_ID, PackedBatch
from trainer.ppo.entropy import chosen_logprobs, tempered
from trainer.ppo.forward import MAX_LOGITS, head_of
from trainer.ppo.peers import ALONE, Peers

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ATTENTION = ("sdpa", "eager")
"""Implementations that follow a mask of four dimensions."""


class Counterfactual(NamedTuple):
    """The batch as it would have been without feedback."""

    logprobs_BT: Tensor
    """Of each action token, in nats, at the sampling temperature; 0 where not scored."""
    scored_BT: Tensor
    """True on the tokens of turns that came after masked feedback."""


@dataclass
class _Tree:
    """One row with its branches."""

    ids: list[int]
    positions: list[int]
    branches: list[int]
    """0 for real tokens, 1, 2, ... for the branches."""
    limits: list[int]
    """How many real tokens each token may see beside its own branch."""
    places: list[int] = field(default_factory=list)
    """Where the scored tokens stand here."""
    origins: list[int] = field(default_factory=list)
    """Where they stand in the batch."""


@torch.no_grad()
def without_feedback(
    batch: PackedBatch,
    actor: PreTrainedModel,
    *,
    temperature: float,
    max_tokens: int,
    peers: Peers = ALONE,
) -> Counterfactual:
    """Score every turn as if the feedback right before it had said nothing.

    Args:
        batch: Packed trajectories with `masked_feedback`.
        actor: The policy, with an attention that follows a mask (`ATTENTION`).
        temperature: The sampling temperature.
        max_tokens: Padded tokens of one pass, branches included.
        peers: Who shares the passes.

    Raises:
        ValueError: if masked feedback is missing, or the attention cannot branch.

    Source:
        InfoPO 2603.00656, section 3; the public code takes two passes for every credited turn.
    """
    attention = getattr(actor.config, "_attn_implementation", None)
    if attention not in ATTENTION:
        raise ValueError(
            f"credit without feedback needs an attention that follows a mask, and the model has "
            f"{attention!r}; load it with attn_implementation 'sdpa'"
        )
    trees = [_tree(batch, row) for row in range(len(batch.lengths_B))]
    dtype = torch.promote_types(next(actor.parameters()).dtype, torch.float32)
    logprobs_BT = torch.zeros(batch.ids_BT.shape, dtype=dtype, device=batch.ids_BT.device)
    scored_BT = torch.zeros_like(batch.action_mask_BT)
    branching = [row for row, tree in enumerate(trees) if tree.places]
    widths = [len(trees[row].ids) for row in branching]
    for row in branching:
        scored_BT[row, torch.tensor(trees[row].origins)] = True
    for part, counts in peers.passes(widths, max_tokens=max_tokens):
        rows = [branching[at] for at in part]
        found_N = peers.visit(
            actor,
            partial(_score, [trees[row] for row in rows], temperature, batch.ids_BT.device),
        )
        if counts:
            rows_N = torch.tensor([row for row in rows for _ in trees[row].origins])
            origins_N = torch.tensor([place for row in rows for place in trees[row].origins])
            logprobs_BT[rows_N, origins_N] = found_N.to(dtype)
    logprobs_BT = peers.total(logprobs_BT)
    if not bool(logprobs_BT.isfinite().all()):
        raise FloatingPointError(
            "scoring without feedback gave log-probabilities that are not finite; the weights are "
            "as they were, go back to the last good checkpoint"
        )
    return Counterfactual(logprobs_BT, scored_BT)


def _tree(batch: PackedBatch, row: int) -> _Tree:
    """Lay out one row: real tokens as far as a branch needs them, then the branches."""
    ids = batch.ids_BT[row].tolist()
    turns = batch.turn_ids_BT[row].tolist()
    silent = batch.masked_feedback[row]
    acting = [place for place, turn in enumerate(turns[: batch.lengths_B[row]]) if turn >= 0]
    spoken = [list(places) for _, places in groupby(acting, key=turns.__getitem__)]
    if len(silent) < len(spoken) - 1:
        raise ValueError(
            f"row {row} has {len(spoken)} turns and masked feedback after {len(silent)} of them; "
            "collect its episodes with a placeholder (`Scene.placeholder`)"
        )
    leaves = [places[-1] + 1 for places in spoken[:-1]]
    real = leaves[-1] if leaves else 0
    tree = _Tree(ids[:real], list(range(real)), [0] * real, [real] * real)
    for branch, (leave, places) in enumerate(zip(leaves, spoken[1:], strict=True), start=1):
        placeholder = silent[branch - 1]
        if not placeholder or places[0] == leave:
            continue
        tree.places += range(
            len(tree.ids) + len(placeholder), len(tree.ids) + len(placeholder) + len(places)
        )
        tree.origins += places
        words = [*placeholder, *(ids[place] for place in places)]
        tree.ids += words
        tree.positions += range(leave, leave + len(words))
        tree.branches += [branch] * len(words)
        tree.limits += [leave] * len(words)
    return tree


def _score(
    trees: list[_Tree], temperature: float, device: torch.device, actor: PreTrainedModel
) -> Tensor:
    """Return the log-probability of every scored token of some rows, row by row."""
    width = max(len(tree.ids) for tree in trees)

    def grid(columns: list[list[int]], fill: int) -> Tensor:
        padded = [[*column, *[fill] * (width - len(column))] for column in columns]
        return torch.tensor(padded, device=device)

    ids_RW = grid([tree.ids for tree in trees], PAD_ID)
    # Padding is a branch of its own: a row of the mask that allows nothing would give NaN.
    branches_RW = grid([tree.branches for tree in trees], -1)
    limits_RW = grid([tree.limits for tree in trees], 0)
    seen_RWW = _may_see(branches_RW, limits_RW)
    dtype = next(actor.parameters()).dtype
    mask_R1WW = torch.zeros(seen_RWW.shape, dtype=dtype, device=device)
    mask_R1WW = mask_R1WW.masked_fill(~seen_RWW, torch.finfo(dtype).min)[:, None]
    hidden_RWH = actor.base_model(
        input_ids=ids_RW,
        position_ids=grid([tree.positions for tree in trees], 0),
        attention_mask=mask_R1WW,
        use_cache=False,
    ).last_hidden_state
    rows_N = torch.tensor([row for row, tree in enumerate(trees) for _ in tree.places])
    places_N = torch.tensor([place for tree in trees for place in tree.places])
    hidden_NH, chosen_N = hidden_RWH[rows_N, places_N - 1], ids_RW[rows_N, places_N]
    head = head_of(actor)
    size = max(MAX_LOGITS // head.out_features, 1)
    return torch.cat(
        [
            chosen_logprobs(tempered(head(hidden_CH), temperature), chosen_C)
            for hidden_CH, chosen_C in zip(hidden_NH.split(size), chosen_N.split(size), strict=True)
        ]
    )


def _may_see(branches_RW: Tensor, limits_RW: Tensor) -> Tensor:
    """Tell which token each token attends to: its own branch, and what is real before it."""
    width = branches_RW.shape[1]
    index_W = torch.arange(width, device=branches_RW.device)
    own_RWW = branches_RW[:, :, None] == branches_RW[:, None, :]
    trunk_RWW = (branches_RW[:, None, :] == 0) & (index_W < limits_RW[:, :, None])
    return (index_W[:, None] >= index_W) & (own_RWW | trunk_RWW)
