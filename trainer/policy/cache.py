"""What was read: keys and values of every dialogue, preallocated, one row each.

Row r holds token p of its dialogue at column p, so dialogues of any length share a batch without
padding between their turns. Rows are moved, not copied out, when a batch changes. This module
knows nothing about models or about which dialogue sits where.

Dimensions: R rows, K key/value heads, C columns (tokens), D size of a head, N packed tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

COLUMN_BLOCK = 256
"""The cache grows by this many tokens at a time."""


@dataclass(frozen=True)
class CacheShape:
    """What one token leaves behind in a model."""

    layers: int
    kv_heads: int
    head_dim: int
    dtype: torch.dtype
    device: torch.device


class KeyValueCache:
    """Keys and values, [R, K, C, D] for each layer.

    Args:
        shape: Sizes given by the model.
        max_columns: The longest dialogue, in tokens; growth stops there.
    """

    def __init__(self, shape: CacheShape, *, max_columns: int) -> None:
        self.shape = shape
        self.max_columns = max_columns
        self.rows = 0
        self.columns = 0
        self.keys = [self._new(0, 0) for _ in range(shape.layers)]
        self.values = [self._new(0, 0) for _ in range(shape.layers)]

    def reserve(self, rows: int, columns: int) -> None:
        """Grow to at least this many rows and columns; what is held stays where it is."""
        blocks = -(-columns // COLUMN_BLOCK)
        rows = max(rows, self.rows)
        columns = max(min(blocks * COLUMN_BLOCK, self.max_columns), self.columns)
        if (rows, columns) == (self.rows, self.columns):
            return
        for held in (self.keys, self.values):
            for layer, old in enumerate(held):
                grown = self._new(rows, columns)
                grown[: self.rows, :, : self.columns] = old
                held[layer] = grown
        self.rows, self.columns = rows, columns

    def write(
        self, layer: int, rows: Tensor, columns: Tensor, keys: Tensor, values: Tensor
    ) -> None:
        """Put the keys and values [N, K, D] of N tokens at their rows and columns, both [N]."""
        self.keys[layer][rows, :, columns] = keys
        self.values[layer][rows, :, columns] = values

    def read(self, layer: int, rows: slice | Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Return keys and values of some rows, first `width` columns: views for a slice."""
        return self.keys[layer][rows, :, :width], self.values[layer][rows, :, :width]

    def arrange(self, order: Sequence[int], width: int) -> None:
        """Permute the rows: row i becomes what row `order[i]` was.

        Args:
            order: A permutation of the first `len(order)` rows.
            width: Columns that matter; what lies beyond is not moved.
        """
        moved = [row for row, source in enumerate(order) if row != source]
        if not moved or not width:
            return
        to = torch.tensor(moved, device=self.shape.device)
        source = torch.tensor([order[row] for row in moved], device=self.shape.device)
        for held in (self.keys, self.values):
            for tensor in held:
                tensor[to, :, :width] = tensor[source, :, :width]

    def _new(self, rows: int, columns: int) -> Tensor:
        # Zeros, not garbage: a masked column still enters products, and NaN would survive them.
        return torch.zeros(
            rows,
            self.shape.kv_heads,
            columns,
            self.shape.head_dim,
            dtype=self.shape.dtype,
            device=self.shape.device,
        )
