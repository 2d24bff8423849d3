"""Any causal transformers model through its own forward, over the same rows of keys and values.

The model is handed a transformers `Cache` that writes into the sampler's cache, a mask and
positions for each row, so dialogues of different lengths share a batch here too. It is for
models whose only state is keys and values; others are found out by `trainer.policy.forward`.

Dimensions: R rows, T tokens of the longest, K key/value heads, D size of a head, L columns.
"""

from __future__ import annotations

import inspect
from typing import Any, cast

import torch
from torch import Tensor
from transformers import Cache, PreTrainedModel
from transformers.cache_utils import CacheLayerMixin

from trainer.policy.cache import CacheShape, KeyValueCache
from trainer.policy.decoder import Reading


class _RowLayer(CacheLayerMixin):
    """One layer's keys and values as transformers asks for them: written, then read whole."""

    def __init__(self, layer: int, cache: KeyValueCache, reading: Reading) -> None:
        super().__init__()
        self._layer, self._cache, self._reading = layer, cache, reading
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new tokens [R, K, T, D], padding left out; return all that is visible."""
        reading = self._reading
        at = (reading.within, slice(None), reading.offsets)
        self._cache.write(
            self._layer, reading.rows, reading.positions, key_states[at], value_states[at]
        )
        return self._cache.read(self._layer, reading.cache_rows, reading.width)

    def get_seq_length(self) -> int:
        """Return the columns held before this reading, as if all rows were equally long."""
        return self._reading.width - self._reading.mask.shape[2]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Return the width of the mask and its offset."""
        return self._reading.width, 0

    def get_max_length(self) -> int:
        """Return the longest dialogue."""
        return self._cache.max_columns

    def get_max_cache_shape(self) -> int:
        """Return the longest dialogue (the older name)."""
        return self._cache.max_columns

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Do nothing: the rows are there already."""


class ModelDecoder:
    """The model's own forward pass.

    Args:
        model: A causal model whose forward takes a cache, a 4-D mask and positions.
        max_tokens: Longest dialogue; sliding windows must be at least as long.
        dtype: Must be the model's own.

    Raises:
        ValueError: if another dtype is asked for, or a layer sees less than `max_tokens`.
    """

    def __init__(
        self, model: PreTrainedModel, *, max_tokens: int, dtype: torch.dtype | None = None
    ) -> None:
        name = type(model).__name__
        if dtype not in (None, model.dtype):
            raise ValueError(f"{name} computes in {model.dtype}; load it in {dtype} to sample so")
        config = cast("Any", model.config.get_text_config())
        window = getattr(config, "sliding_window", None)
        if window is not None and window < max_tokens:
            raise ValueError(
                f"layers of {name} see {window} tokens and dialogues may have {max_tokens}; "
                f"set max_tokens to at most {window}"
            )
        self._model = cast("Any", model)
        accepted = inspect.signature(model.forward).parameters
        # transformers 5.24 renamed the argument.
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"
        self._keeps_some = "logits_to_keep" in accepted
        self.vocab_size = int(config.vocab_size)
        self.shape = self._probe_shape()

    def refresh(self) -> None:
        """Do nothing: the model's weights are read at every pass."""

    def forward(self, cache: KeyValueCache, reading: Reading) -> Tensor:
        """Read the tokens into the cache and return the logits [R, V] after each row's last."""
        rows, _, most, _ = reading.mask.shape
        ids = reading.tokens.new_zeros(rows, most)
        ids[reading.within, reading.offsets] = reading.tokens
        positions = torch.zeros_like(ids)
        positions[reading.within, reading.offsets] = reading.positions
        # Padding reads position 0 and is written nowhere (`_RowLayer.update` leaves it out).
        last = reading.offsets[reading.last]
        kept, place = torch.unique(last, return_inverse=True)
        layers: list[Any] = [_RowLayer(i, cache, reading) for i in range(self.shape.layers)]
        arguments: dict[str, Any] = {self._cache_name: Cache(layers=layers)}
        if self._keeps_some:
            arguments["logits_to_keep"] = kept
        # Dropout must not reach what is sampled, and the learner's mode is not ours to end.
        was_training = self._model.training
        self._model.eval()
        logits = self._model(
            input_ids=ids,
            position_ids=positions,
            attention_mask=reading.mask,
            use_cache=True,
            **arguments,
        ).logits
        self._model.train(was_training)
        return logits[torch.arange(rows, device=logits.device), place if self._keeps_some else last]

    @torch.no_grad()
    def _probe_shape(self) -> CacheShape:
        """Read one token with the model's own cache and look at what it kept."""
        ids = torch.zeros(1, 1, dtype=torch.long, device=self._model.device)
        output = self._model(input_ids=ids, use_cache=True)
        layers = getattr(getattr(output, self._cache_name, None), "layers", [])
        kept = [getattr(layer, "keys", None) for layer in layers]
        sizes = {tuple(keys.shape) for keys in kept if keys is not None}
        if len(sizes) != 1 or any(keys is None for keys in kept):
            raise ValueError(
                f"{type(self._model).__name__} keeps something else than one kind of keys and "
                f"values in its {len(layers)} layers, so its dialogues cannot be remembered; take "
                "a model with plain attention layers"
            )
        _, kv_heads, _, head_dim = sizes.pop()
        return CacheShape(len(layers), kv_heads, head_dim, self._model.dtype, self._model.device)
