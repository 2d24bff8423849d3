"""Log-probability and entropy of the very policy that samples: logits over temperature.

A log-probability cannot be re-tempered afterwards, and an entropy at temperature 1 describes a
policy that never acted; so both take the temperature, and both are computed in at least float32.

Dimensions: N tokens, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor


def tempered(logits_NV: Tensor, temperature: float) -> Tensor:
    """Return the logits in at least float32, divided by the sampling temperature.

    Args:
        logits_NV: What the head gave, in any dtype.
        temperature: > 0; a policy at temperature 0 has no gradient.

    Raises:
        ValueError: if the temperature is not positive.
    """
    if not temperature > 0:
        raise ValueError(
            f"the sampling temperature is {temperature}; training needs one above 0 "
            "(greedy decoding is for evaluation)"
        )
    logits_NV = logits_NV.to(torch.promote_types(logits_NV.dtype, torch.float32))
    return logits_NV if temperature == 1.0 else logits_NV / temperature


def chosen_logprobs(tempered_NV: Tensor, chosen_N: Tensor) -> Tensor:
    """Return the log-probability of the chosen token of each row, in nats."""
    chosen = tempered_NV.gather(-1, chosen_N[..., None]).squeeze(-1)
    return chosen - tempered_NV.logsumexp(dim=-1)


def entropy(tempered_NV: Tensor) -> Tensor:
    """Return the entropy of each row's softmax in nats, in [0, ln V].

    H = logsumexp(z) - sum_v softmax(z)_v z_v
    """
    probabilities_NV = tempered_NV.softmax(dim=-1)
    return tempered_NV.logsumexp(dim=-1) - (probabilities_NV * tempered_NV).sum(dim=-1)
