"""Whitening: advantages of mean 0 and variance 1 over the tokens that learn from them.

Observation and padding tokens neither count nor change. Returns are never whitened: the critic
must stay in the units of reward.

Dimensions: B trajectories, T tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

FEWEST_FOR_VARIANCE = 8


def whiten(
    values_BT: Tensor,
    mask_BT: Tensor,
    *,
    epsilon: float = 1e-8,
    fewest: int = FEWEST_FOR_VARIANCE,
) -> Tensor:
    """Return (x - mean) / sqrt(variance + epsilon) on the mask and 0 off it.

    Args:
        values_BT: Advantages of the whole batch; NaN off the mask is not seen.
        mask_BT: True on action tokens.
        epsilon: Keeps a batch of equal advantages at 0.
        fewest: With fewer masked values than this only the mean is taken away, for a variance of
            a handful says nothing.

    Source:
        Huang et al. 2022, detail 7; population variance, so that one value is no special case.
    """
    masked_BT = torch.where(mask_BT, values_BT, 0.0)
    count = int(mask_BT.sum())
    if count == 0:
        return masked_BT
    centred_BT = torch.where(mask_BT, values_BT - masked_BT.sum() / count, 0.0)
    if count < fewest:
        return centred_BT
    variance = centred_BT.square().sum() / count
    return centred_BT * torch.rsqrt(variance + epsilon)
