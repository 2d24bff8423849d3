"""Which forward pass a model decodes with, and proof that it computes what the model does."""

from __future__ import annotations

from typing import Any, cast

import torch
from transformers import PreTrainedModel

from trainer.policy.cache import KeyValueCache
from trainer.policy.decoder import Decoder, plan_reading
from trainer.policy.generic import ModelDecoder
from trainer.policy.llama import LlamaDecoder, in_family

_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-6}
"""Largest difference of logits, as a share of their spread; 0.1 in half precision."""


def choose_decoder(
    model: PreTrainedModel, *, max_tokens: int, dtype: torch.dtype | None = None
) -> Decoder:
    """Return the fastest decoder that is right for this model.

    It is tried on two short dialogues of unequal length, read in two parts, before it is used.

    Args:
        model: A causal model.
        max_tokens: Longest dialogue it will read.
        dtype: Type to compute in; the model's own unless given.

    Raises:
        ValueError: if the context is shorter than `max_tokens`, or the model does not decode
            rightly with a cache.
    """
    context = getattr(model.config, "max_position_embeddings", None)
    if max_tokens < 2 or (context is not None and max_tokens > context):
        raise ValueError(
            f"max_tokens {max_tokens} must lie in 2..{context}, the context of "
            f"{type(model).__name__}; shorten the dialogues or take a model with a longer context"
        )
    # A model off the list may differ from the family in a detail that short probes cannot show.
    if in_family(model, max_tokens):
        decoder: Decoder = LlamaDecoder(model, max_tokens=max_tokens, dtype=dtype)
    else:
        decoder = ModelDecoder(model, max_tokens=max_tokens, dtype=dtype)
    difference = decoding_error(model, decoder, max_tokens=max_tokens)
    limit = _TOLERANCE.get(decoder.shape.dtype, 0.1)
    if not difference <= limit:
        raise ValueError(
            f"{type(model).__name__} decodes wrongly with a key/value cache: its logits are off by "
            f"{difference:.3g} of their spread, allowed {limit:g}. Its layers may keep a state "
            "other than keys and values; take a model with plain attention layers"
        )
    return decoder


@torch.no_grad()
def decoding_error(model: PreTrainedModel, decoder: Decoder, *, max_tokens: int) -> float:
    """Return the largest difference from the model's own logits, as a share of their spread.

    Args:
        model: The reference, read without a cache.
        decoder: The pass under test.
        max_tokens: Bound of the probe's length.
    """
    size = min(max_tokens, 9)
    vocab = decoder.vocab_size
    dialogues = [
        [(7 * i + 3) % vocab for i in range(size)],
        [(5 * i + 1) % vocab for i in range(2)],
    ]
    cache = KeyValueCache(decoder.shape, max_columns=max_tokens)
    cache.reserve(2, size)
    worst = 0.0
    was_training = model.training
    model.eval()
    # Two parts: the second row ends early, so rows of one and of many tokens meet.
    for first, end in ((0, 1), (1, size)):
        parts = [ids[first:end] for ids in dialogues]
        plan = plan_reading(
            parts, [0, 1], [first] * 2, dtype=decoder.shape.dtype, device=decoder.shape.device
        )
        found = decoder.forward(cache, plan).double()
        for row, ids in enumerate(dialogues):
            read = torch.tensor([ids[:end]], device=model.device)
            expected = cast("Any", model)(input_ids=read).logits[0, -1].double()
            spread = float(expected.max() - expected.min()) or 1.0
            worst = max(worst, float((found[row] - expected).abs().max()) / spread)
    model.train(was_training)
    return worst


def weights_mark(model: PreTrainedModel) -> int:
    """Return a number that changes when any parameter is written to or replaced.

    It reads torch's own counters, so it costs microseconds; writes through `.data` escape it.
    """
    return hash(tuple((id(p), p._version) for p in model.parameters()))
