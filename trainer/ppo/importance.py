"""The gap between the policy that sampled and the policy that learns.

A serving engine computes the same weights in other kernels or another dtype, so its probabilities
differ a little from the learner's; weights that are an update old differ by what that update
learnt. Truncated token weights correct for both; products over whole sequences are not used, for
they grow with length (1.1^100 is 13780). A trajectory that is too far off may be dropped whole.

Dimensions: N action tokens, B trajectories, T tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from trainer.ppo.kl import k3


def truncated_weights(
    old_logprobs_N: Tensor, rollout_logprobs_N: Tensor, *, cap: float | None
) -> Tensor:
    """Return min(pi_old / mu, cap) for each token, a constant.

    Args:
        old_logprobs_N: Log-probability under the learner at the start of the update.
        rollout_logprobs_N: Log-probability under the sampler, at the same temperature.
        cap: Largest weight, >= 1; None gives weight 1 to all, which trusts the sampler.

    Source:
        Truncated importance sampling, Ionides 2008; slime and verl use a cap of 2.
    """
    if cap is None:
        return torch.ones_like(old_logprobs_N)
    return (old_logprobs_N - rollout_logprobs_N).detach().exp().clamp(max=cap)


def mismatch(old_logprobs_N: Tensor, rollout_logprobs_N: Tensor) -> dict[str, float]:
    """Measure the gap over a batch's action tokens, at least one.

    Returns:
        `sampler_logprob_gap_mean` and `_max`: |log pi_old - log mu| in nats. `sampler_k3`: mean
        of rho - 1 - ln rho with rho = pi_old / mu. `sampler_chi2`: mean of rho^2, less 1.
    """
    gap_N = (old_logprobs_N - rollout_logprobs_N).abs().double()
    rho_N = (old_logprobs_N - rollout_logprobs_N).double().exp()
    return {
        "sampler_logprob_gap_mean": float(gap_N.mean()),
        "sampler_logprob_gap_max": float(gap_N.max()),
        "sampler_k3": float(mismatch_k3(old_logprobs_N, rollout_logprobs_N).mean()),
        "sampler_chi2": float(rho_N.square().mean() - 1.0),
    }


def within_gate(
    old_logprobs_BT: Tensor, rollout_logprobs_BT: Tensor, action_mask_BT: Tensor, *, bound: float
) -> Tensor:
    """Return the rows [B] whose mean k3 over their action tokens is at most a bound.

    Args:
        old_logprobs_BT: Under the learner at the start of the update; ignored off the mask.
        rollout_logprobs_BT: Under the sampler, at the same temperature.
        action_mask_BT: What the policy wrote; a row without any passes.
        bound: Nats per token, >= 0.

    Source:
        Rejection of whole sequences as in verl, whose usual bounds are .001 to .01.
    """
    k3_BT = mismatch_k3(old_logprobs_BT, rollout_logprobs_BT) * action_mask_BT
    return k3_BT.sum(-1) <= bound * action_mask_BT.sum(-1)


def mismatch_k3(old_logprobs_N: Tensor, rollout_logprobs_N: Tensor) -> Tensor:
    """Return rho - 1 - ln rho of each token, an estimate of KL(mu || pi_old)."""
    return k3(rollout_logprobs_N.double(), old_logprobs_N.double())
