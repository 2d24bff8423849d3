"""Comparison within groups: by how many standard deviations a number beats its peers.

A number without peers, or among equals, gets exactly 0: neither luck nor rounding is paid for.
This module knows nothing about trajectories, rewards or methods.

Dimensions: M numbers, G groups.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

EPSILON = 1e-6
"""Added to the standard deviation, as everywhere in verl's family."""
TIE = 1e-6
"""Peers that lie no further apart are equal; rewards are sums in float32."""


class Compared(NamedTuple):
    """Numbers beside their peers, in float64."""

    scores_M: Tensor
    """(x - mean) / (std + epsilon); 0 without peers or among equals."""
    std_M: Tensor
    """Standard deviation of the number's group, in its own units; 0 without peers."""
    tied_M: Tensor
    """True where the group cannot teach: a single number, or equal ones."""


def compare(values_M: Tensor, groups_M: Tensor, *, ddof: int) -> Compared:
    """Compare every number with those of its group.

    Args:
        values_M: The numbers.
        groups_M: Integers; equal ones belong together.
        ddof: 1 divides the squares by n - 1 (sample), 0 by n (population).

    Source:
        GRPO, Shao et al. 2024; sample deviation and epsilon as in verl. A group of one gets 0
        where verl gives it its raw reward.
    """
    values_M = values_M.double()
    names_G, at_M = groups_M.unique(return_inverse=True)
    zeros_G = values_M.new_zeros(len(names_G))
    count_G = zeros_G.index_add(0, at_M, torch.ones_like(values_M))
    mean_G = zeros_G.index_add(0, at_M, values_M) / count_G
    deviation_M = values_M - mean_G[at_M]
    squares_G = zeros_G.index_add(0, at_M, deviation_M.square())
    std_G = (squares_G / (count_G - ddof).clamp(min=1)).sqrt()
    highest_G = zeros_G.scatter_reduce(0, at_M, values_M, "amax", include_self=False)
    lowest_G = zeros_G.scatter_reduce(0, at_M, values_M, "amin", include_self=False)
    tied_M = ((count_G < 2) | (highest_G - lowest_G <= TIE))[at_M]
    scores_M = torch.where(tied_M, 0.0, deviation_M / (std_G[at_M] + EPSILON))
    return Compared(scores_M, torch.where(count_G < 2, 0.0, std_G)[at_M], tied_M)
