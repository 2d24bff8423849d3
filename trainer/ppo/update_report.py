"""What a scored batch says about itself before the update, in plain numbers.

Means are over action tokens of the whole batch at once, never means of parts. Learnt quantities
(losses, gradient norms) are reported by the gradient steps; this module measures only.
"""

from __future__ import annotations

from trainer.ppo import kl
from trainer.ppo.batch import PackedBatch
from trainer.ppo.credit import Credit
from trainer.ppo.explained_variance import explained_variance
from trainer.ppo.importance import mismatch
from trainer.ppo.lessons import Lessons
from trainer.ppo.scoring import Scores


def batch_metrics(
    batch: PackedBatch, scores: Scores, credit: Credit, lessons: Lessons, *, tis_cap: float | None
) -> dict[str, float]:
    """Measure a batch.

    Returns:
        `num_trajectories`, `num_action_tokens`, `num_tokens`, `num_truncated`, `padding_fraction`;
        `entropy` in nats at the sampling temperature; `sampler_*` (see `importance.mismatch`) and
        `tis_clipped_fraction`; `kl` to the reference in nats, where there is one; `reward_mean`
        per trajectory; `advantage_mean`, `advantage_std` before whitening; with a critic
        `value_mean`, `return_mean`, `return_std`, `explained_variance` and `bootstrap_mean` over
        truncated rows; the estimator's own numbers under `credit_`.
    """
    mask_BT = batch.action_mask_BT
    old_N, rollout_N = scores.old_logprobs_BT[mask_BT], batch.rollout_logprobs_BT[mask_BT]
    advantages_N = credit.advantages_BT[mask_BT].double()
    rows, width = batch.ids_BT.shape
    truncated = int(batch.truncated_B.sum())
    metrics = {
        "num_trajectories": float(rows),
        "num_action_tokens": float(batch.num_actions),
        "num_tokens": float(sum(batch.lengths_B)),
        "num_truncated": float(truncated),
        "padding_fraction": 1.0 - sum(batch.lengths_B) / (rows * width),
        "entropy": float(scores.entropies_BT[mask_BT].double().mean()),
        "reward_mean": float(batch.rewards_BT.double().sum()) / rows,
        "advantage_mean": float(advantages_N.mean()),
        "advantage_std": float(advantages_N.std(correction=0)),
        **mismatch(old_N, rollout_N),
    }
    if tis_cap is not None:
        metrics["tis_clipped_fraction"] = float(
            (lessons.weights_BT[mask_BT] >= tis_cap).double().mean()
        )
    if scores.reference_logprobs_BT is not None:
        reference_N = scores.reference_logprobs_BT[mask_BT]
        metrics["kl"] = float(kl.k3(old_N, reference_N).double().mean())
    if scores.values_BT is not None and scores.bootstrap_B is not None:
        values_N, returns_N = scores.values_BT[mask_BT], credit.returns_BT[mask_BT]
        metrics |= {
            "value_mean": float(values_N.double().mean()),
            "return_mean": float(returns_N.double().mean()),
            "return_std": float(returns_N.double().std(correction=0)),
            "explained_variance": explained_variance(values_N, returns_N),
            "bootstrap_mean": float(scores.bootstrap_B.sum()) / max(truncated, 1),
        }
    return metrics | {f"credit_{name}": value for name, value in credit.diagnostics.items()}


def dropped(lessons: Lessons) -> dict[str, float]:
    """Measure what the gate for older weights kept from the actor.

    Returns:
        `stale_dropped`: share of the trajectories, and `stale_dropped_tokens`: share of the action
        tokens, that only the critic learns from.
    """
    kept_B = lessons.actor_mask_BT.any(-1).double()
    return {
        "stale_dropped": 1.0 - float(kept_B.mean()),
        "stale_dropped_tokens": 1.0 - lessons.num_actor_actions / lessons.num_actions,
    }
