"""The losses of PPO, one number per token.

Pure functions of tensors of any one shape; callers choose which tokens to pass, sum, divide by the
number of action tokens of the whole minibatch, and name the metric.

Dimensions: N action tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

# A sampler and a learner that disagree on one token can make a ratio overflow; e^20 leaves any
# drift that the clip range could care about alone.
_LOG_RATIO_LIMIT = 20.0


class Surrogate(NamedTuple):
    """PPO's pessimistic objective as a loss, with what it saw on the way."""

    loss_N: Tensor
    ratio_N: Tensor
    """New over old probability."""
    clipped_N: Tensor
    """True where the clip range (not the dual clip) holds the token back."""


def clipped_surrogate(
    logprobs_N: Tensor,
    old_logprobs_N: Tensor,
    advantages_N: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    dual_clip: float,
) -> Surrogate:
    """Return the negated clipped surrogate objective of each token.

        L = -min(r A, clip(r, 1 - clip_low, 1 + clip_high) A);   for A < 0 also L <= -dual_clip A

    The upper limit may exceed the lower one, so that unlikely tokens can gain probability. The
    dual clip bounds the loss of a token with negative advantage whose ratio ran away.

    Args:
        logprobs_N: Log-probability under the policy being trained.
        old_logprobs_N: The same under the policy at the start of the update; a constant.
        advantages_N: How much better than expected each token was; a constant.
        clip_low: Distance of the lower limit from 1, in [0, 1).
        clip_high: Distance of the upper limit from 1, >= 0.
        dual_clip: Largest multiple of -A that a loss may reach, > 1.

    Source:
        Schulman et al. 2017, eq. 7; dual clip Ye et al. 2020, eq. 5; clip-higher DAPO 2503.14476.
    """
    log_ratio_N = (logprobs_N - old_logprobs_N).clamp(-_LOG_RATIO_LIMIT, _LOG_RATIO_LIMIT)
    ratio_N = log_ratio_N.exp()
    free_N = -ratio_N * advantages_N
    held_N = -ratio_N.clamp(1.0 - clip_low, 1.0 + clip_high) * advantages_N
    loss_N = torch.maximum(free_N, held_N)
    loss_N = torch.where(advantages_N < 0, torch.minimum(loss_N, -dual_clip * advantages_N), loss_N)
    return Surrogate(loss_N, ratio_N, held_N > free_N)


def value_loss(
    values_N: Tensor, old_values_N: Tensor, returns_N: Tensor, *, clip: float | None
) -> Tensor:
    """Return half the squared error of the critic, pessimistic about moves beyond `clip`.

        L = max((V - R)^2, (clip(V, V_old - c, V_old + c) - R)^2) / 2

    Args:
        values_N: The critic's present estimate, in the units of reward.
        old_values_N: Its estimate at the start of the update; a constant.
        returns_N: The targets; a constant.
        clip: How far an estimate may move in one update before its gradient is cut, in the units
            of reward; None for the plain squared error.

    Source:
        The PPO2 value clip of Schulman et al.'s code, as in Huang et al. 2022, detail 9.
    """
    error_N = (values_N - returns_N).square()
    if clip is not None:
        held_N = torch.clamp(values_N, old_values_N - clip, old_values_N + clip)
        error_N = torch.maximum(error_N, (held_N - returns_N).square())
    return 0.5 * error_N


def token_mean(losses_N: Tensor, *, total: int) -> Tensor:
    """Return this part's share of the mean over all action tokens of a minibatch.

    The shares of the parts add up to the mean, however the minibatch was cut; the mean of the
    parts' means would not. A row without action tokens adds 0 to both sides.

    Args:
        losses_N: One loss per action token of this part.
        total: Action tokens of the whole minibatch, over all parts and ranks, >= 1.
    """
    return losses_N.sum() / total
