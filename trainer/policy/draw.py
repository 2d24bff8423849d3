"""Drawing the next token: one uniform number per dialogue, turn and token.

The number belongs to the request's seed and the token's index in its turn, so neither the batch
nor what others drew can change it. Log-probabilities are those of the distribution drawn from:
logits divided by the temperature, softmax in float32.

Dimensions: R rows, V vocabulary, S tokens of a turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import torch
from torch import Tensor

_BITS = 24
"""Bits of a uniform number: what float32 holds exactly below 1."""


def uniforms(seeds: Sequence[int], num_tokens: int) -> Tensor:
    """Return [R, S] numbers in [0, 1): row r is a function of `seeds[r]` alone.

    A shorter row is the beginning of a longer one with the same seed.

    Args:
        seeds: One non-negative integer below 2**64 for each row.
        num_tokens: S.

    Source:
        Philox (Salmon et al. 2011), raw words, which numpy keeps the same for ever.
    """
    draws = numpy.empty((len(seeds), num_tokens), dtype=numpy.float32)
    for row, seed in enumerate(seeds):
        words = numpy.random.Philox(key=seed).random_raw(num_tokens)
        draws[row] = (words >> numpy.uint64(64 - _BITS)) * 2.0**-_BITS
    return torch.from_numpy(draws)


def draw(
    logits_RV: Tensor, uniform_R: Tensor, *, temperature: float, greedy: bool
) -> tuple[Tensor, Tensor]:
    """Return the next token of each row and its log-probability, both [R].

    Args:
        logits_RV: What the model says.
        uniform_R: One number in [0, 1) for each row; unused when greedy.
        temperature: Divides the logits, > 0.
        greedy: Take the likeliest token; its log-probability is still that of the distribution.
    """
    logprobs_RV = torch.log_softmax(logits_RV.float() / temperature, -1)
    if greedy:
        tokens = logprobs_RV.argmax(-1, keepdim=True)
    else:
        below_RV = logprobs_RV.exp().cumsum(-1)
        # The sum is 1 only up to rounding; scaling by it keeps a number near 1 from falling
        # behind the last token, and `right` never picks a token of probability zero.
        total = below_RV[:, -1:]
        threshold = torch.minimum(
            uniform_R[:, None] * total, torch.nextafter(total, torch.zeros_like(total))
        )
        # The clamp matters for logits that are not finite alone; the caller refuses those.
        tokens = torch.searchsorted(below_RV, threshold, right=True).clamp_(
            max=logits_RV.shape[-1] - 1
        )
    return tokens[:, 0], logprobs_RV.gather(-1, tokens)[:, 0]
