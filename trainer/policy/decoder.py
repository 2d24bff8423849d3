"""The decoder seam: read a batch of new tokens on top of what a cache holds.

Two implementations stand behind it: a hand-written pass for the Llama family
(`trainer.policy.llama`) and any other causal model through its own forward
(`trainer.policy.generic`). A decoder knows positions and rows; dialogues, seeds and stop tokens
are the sampler's.

Dimensions: N packed tokens, R rows that read, T tokens of the row that reads most, L columns
that are visible, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from trainer.policy.cache import CacheShape, KeyValueCache

READ_TOKENS = 4096
"""Padded tokens in one forward pass over new text."""

READ_COLUMNS = 512
"""New tokens of one dialogue in one forward pass; bounds the attention mask."""


@dataclass(frozen=True)
class Reading:
    """New tokens of some rows, packed without padding, row after row."""

    tokens: Tensor
    """[N] ids."""
    rows: Tensor
    """[N] the cache row of each token."""
    positions: Tensor
    """[N] position in its dialogue, which is also its column in the cache."""
    cache_rows: slice | Tensor
    """The R rows that read, in order; a slice where they are neighbours."""
    within: Tensor
    """[N] index of the token's row among the R rows."""
    offsets: Tensor
    """[N] index of the token among its row's new tokens."""
    last: Tensor
    """[R] index of each row's last token among the N."""
    mask: Tensor
    """[R, 1, T, L] added to attention scores: 0 where visible, -inf elsewhere."""

    @property
    def one_each(self) -> bool:
        """True when every row reads exactly one token, as in the decoding loop."""
        return self.mask.shape[2] == 1

    @property
    def width(self) -> int:
        """L, the visible columns."""
        return self.mask.shape[3]


class Decoder(Protocol):
    """A causal model's forward pass over a key/value cache."""

    @property
    def shape(self) -> CacheShape:
        """What the cache must hold for this model."""
        ...

    @property
    def vocab_size(self) -> int:
        """V, the number of logits."""
        ...

    def forward(self, cache: KeyValueCache, reading: Reading) -> Tensor:
        """Read the tokens into the cache and return the logits [R, V] after each row's last."""
        ...

    def refresh(self) -> None:
        """Take the model's present weights."""
        ...


def plan_reading(
    new_ids: Sequence[Sequence[int]],
    rows: Sequence[int],
    starts: Sequence[int],
    *,
    dtype: torch.dtype,
    device: torch.device,
) -> Reading:
    """Pack the new tokens of several rows.

    Args:
        new_ids: For each row, the ids to read; at least one.
        rows: The cache row of each.
        starts: How many tokens the cache already holds of each.
        dtype: The type in which scores are computed.
        device: Where the model is.
    """
    lengths = torch.tensor([len(ids) for ids in new_ids])
    rows_R, starts_R = torch.tensor(rows), torch.tensor(starts)
    within = torch.repeat_interleave(torch.arange(len(rows)), lengths)
    ends = lengths.cumsum(0)
    offsets = torch.arange(int(ends[-1])) - (ends - lengths)[within]
    most, width = int(lengths.max()), int((starts_R + lengths).max())
    positions_RT = starts_R[:, None] + torch.arange(most)
    neighbours = list(rows) == list(range(rows[0], rows[0] + len(rows)))
    return Reading(
        tokens=torch.tensor([i for ids in new_ids for i in ids], device=device),
        rows=rows_R[within].to(device),
        positions=(starts_R[within] + offsets).to(device),
        cache_rows=slice(rows[0], rows[0] + len(rows)) if neighbours else rows_R.to(device),
        within=within.to(device),
        offsets=offsets.to(device),
        last=(ends - 1).to(device),
        mask=causal_mask(positions_RT.to(device), width, dtype=dtype),
    )


def group_rows(new_ids: Sequence[Sequence[int]]) -> list[list[int]]:
    """Cut rows into neighbours that together stay below `READ_TOKENS` padded tokens.

    Neighbours, and not rows of like length, because their part of the cache is then a view.
    """
    groups: list[list[int]] = [[]]
    widest = 0
    for row, ids in enumerate(new_ids):
        widest = max(widest, min(len(ids), READ_COLUMNS))
        if groups[-1] and widest * (len(groups[-1]) + 1) > READ_TOKENS:
            groups.append([])
            widest = min(len(ids), READ_COLUMNS)
        groups[-1].append(row)
    return groups


def causal_mask(positions_RT: Tensor, width: int, *, dtype: torch.dtype) -> Tensor:
    """Return [R, 1, T, width]: 0 for columns up to each token's position, -inf behind it."""
    columns = torch.arange(width, device=positions_RT.device)
    hidden = columns > positions_RT[:, None, :, None]
    return torch.zeros(hidden.shape, dtype=dtype, device=hidden.device).masked_fill_(
        hidden, -torch.inf
    )
