"""Rotary position embedding in plain torch, in place of vLLM's compiled one.

Without CUDA and without its own CPU kernels, which no package index carries, SGLang takes this
one function from vLLM.
"""

from __future__ import annotations

import torch
from torch import Tensor


def rotary_embedding(
    positions: Tensor,
    query: Tensor,
    key: Tensor | None,
    head_size: int,
    cos_sin_cache: Tensor,
    is_neox: bool = True,
) -> None:
    """Turn queries and keys [tokens, heads * head_size] by their positions, in place.

    Args:
        positions: Position of each token.
        query: Turned in place.
        key: Turned in place, where there is one.
        head_size: Size of a head; what of it is turned is the width of the cache.
        cos_sin_cache: Cosines and then sines, [positions, turned].
        is_neox: Whether a pair is the two halves of a head, or two neighbours.
    """
    rows = cos_sin_cache.index_select(0, positions.flatten()).float()
    cos, sin = (half[:, None] for half in rows.chunk(2, dim=-1))
    turned = rows.shape[-1]
    for states in (query, key):
        if states is None:
            continue
        heads = states.view(len(rows), -1, head_size)
        part = heads[..., :turned].float()
        if is_neox:
            first, second = part.chunk(2, dim=-1)
        else:
            first, second = part[..., ::2], part[..., 1::2]
        pair = (first * cos - second * sin, second * cos + first * sin)
        joined = torch.cat(pair, -1) if is_neox else torch.stack(pair, -1).flatten(-2)
        heads[..., :turned].copy_(joined)
