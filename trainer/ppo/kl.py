"""Three estimators of how far the policy has moved from a reference, per sampled token.

With x = log pi(a) - log pi_ref(a) for a token drawn from pi, all three estimate KL(pi || pi_ref).
Their gradients differ, and that decides where each may be used: k1 inside the reward, detached;
k2 inside a loss; k3 for reports. Autodiff of k1 as a loss is zero on average, and of k3 follows
the opposite divergence.

Source: Schulman, "Approximating KL divergence" (2020); gradients as in verl PR 2953.

Dimensions: N action tokens.
"""

from __future__ import annotations

from torch import Tensor


def k1(logprobs_N: Tensor, reference_logprobs_N: Tensor) -> Tensor:
    """Return x: unbiased, of either sign; the penalty to put inside a reward, detached."""
    return logprobs_N - reference_logprobs_N


def k2(logprobs_N: Tensor, reference_logprobs_N: Tensor) -> Tensor:
    """Return x^2 / 2: biased, but its gradient is that of KL(pi || pi_ref); the one for a loss.

    Tokens drawn from an older policy need the factor pi / pi_old beside it.
    """
    return 0.5 * (logprobs_N - reference_logprobs_N).square()


def k3(logprobs_N: Tensor, reference_logprobs_N: Tensor) -> Tensor:
    """Return e^-x - 1 + x: unbiased, never negative, calm; the one for a report."""
    x_N = logprobs_N - reference_logprobs_N
    return (-x_N).expm1() + x_N
