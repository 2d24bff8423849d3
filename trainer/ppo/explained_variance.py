"""How much of the returns the critic foresaw, over a whole batch at once.

A mean of parts' explained variances is another number, so this is computed once per update from
all action tokens.

Dimensions: N action tokens.
"""

from __future__ import annotations

from torch import Tensor


def explained_variance(values_N: Tensor, returns_N: Tensor) -> float:
    """Return 1 - Var(R - V) / Var(R): 1 is perfect, 0 no better than a constant, below 0 worse.

    Returns that are all equal leave nothing to explain and give 0.

    Args:
        values_N: The critic's estimates before the update, at least one.
        returns_N: What they are compared with, in the same units.
    """
    returns_N = returns_N.double()
    total = float(returns_N.var(correction=0))
    if total == 0.0:
        return 0.0
    return 1.0 - float((returns_N - values_N.double()).var(correction=0)) / total
