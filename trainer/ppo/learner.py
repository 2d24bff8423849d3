"""The learner seam: trajectories in, a better policy out.

Two implementations stand behind it: `torch`, one process (`trainer.ppo.torch_learner`), and
`deepspeed`, many ranks. Both use the same pure numerics of this package. A learner knows nothing
about words, worlds, users or knob files: what it is to do arrives as values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from trainer.ppo.credit_options import FacaOptions, InfoPOOptions, UserRLOptions
from trainer.trajectory import Trajectory


@dataclass(frozen=True)
class LearnSettings:
    """The live knobs of one update, as `knobs/agent.yaml` has them in force."""

    actor_lr: float
    critic_lr: float
    entropy_coeff: float = 0.0
    kl_coeff: float = 0.0
    clip_low: float = 0.2
    clip_high: float = 0.28
    gamma: float = 1.0
    gae_lambda: float = 0.95
    ppo_epochs: int = 1


@dataclass(frozen=True)
class LearnConfig:
    """What an update fixes for the whole run (the recipe's `learner:` block)."""

    credit: str = "gae"
    """Credit estimator, a key of `trainer.ppo.credit.ESTIMATORS`."""
    gae_unit: str = "token"
    """`token`, `turn` or `bilevel`."""
    gae_lambda_critic: float = 1.0
    gamma_turn: float = 0.95
    """Discount between turns, for `bilevel` alone; never shared with the token discount."""
    bootstrap_truncated: bool = True
    whiten: bool = True
    """For methods with a critic; those that compare within groups have a scale of their own."""
    dual_clip: float = 3.0
    value_clip: float | None = 0.2
    kl_mode: str = "reward"
    """`reward`: k1 inside the reward, detached; `loss`: k2 in the loss."""
    temperature: float = 1.0
    """The sampling temperature; the learner divides its logits by it too."""
    minibatch_dialogues: int = 16
    micro_batch_tokens: int = 8192
    """Padded tokens in one forward pass; how the batch is cut never changes the result."""
    recompute_activations: bool = False
    """Compute a layer's inside again for its gradient instead of keeping it: less memory for one
    more forward pass, and the same numbers."""
    critic_warmup_steps: int = 0
    """First steps in which only the critic learns."""
    lr_schedule: str = "constant"
    """`constant`, `linear` or `cosine`; it multiplies the live learning rates."""
    lr_warmup_steps: int = 0
    lr_decay_steps: int = 0
    """Updates after which `linear` and `cosine` have reached 0; they need it, `constant` does not.
    """
    max_grad_norm: float = 1.0
    weight_decay: float = 0.01
    tis_cap: float | None = 2.0
    """Cap of the sampler-to-learner importance weight; None turns the correction off."""
    stale_gate: float | None = 0.01
    """Where older weights than the learner's wrote a batch (`rollout.overlap`): the largest mean
    k3 between them over a trajectory's action tokens, in nats. The actor does not learn from a
    trajectory above it, the critic does. None drops none; a batch of the learner's own weights is
    never asked."""
    group_ddof: int = 1
    """1: sample deviation within a group, as in verl; 0: population deviation."""
    faca: FacaOptions = FacaOptions()
    userrl: UserRLOptions = UserRLOptions()
    infopo: InfoPOOptions = InfoPOOptions()


@dataclass(frozen=True)
class UpdateStats:
    """What one update measured about itself; every number is finite or the update raised."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    """By name: `policy_loss`, `value_loss`, `entropy`, `kl` (where there is a reference policy to
    measure it to), `clip_fraction`, `explained_variance`,
    `actor_grad_norm`, `critic_grad_norm`, `actor_lr`, `critic_lr` (the rates the optimizer really
    used), `num_action_tokens`, `sampler_logprob_gap_mean`, `sampler_logprob_gap_max`, ..."""
    score_s: float = 0.0
    """Seconds of wall time in which the batch was scored (old log-probs and values)."""
    learn_s: float = 0.0
    """Seconds of wall time of the gradient steps."""


class Learner(Protocol):
    """Improves the policy from a batch of trajectories."""

    @property
    def policy_version(self) -> int:
        """How many updates the policy has had; 0 is the policy it started from."""
        ...

    def step(self, trajectories: Sequence[Trajectory], settings: LearnSettings) -> UpdateStats:
        """Run one PPO update over the batch: score, estimate credit, learn.

        Args:
            trajectories: Finished episodes of one policy version, at least one.
            settings: The knobs in force for this update.

        Raises:
            FloatingPointError: if a loss or a gradient is not finite; the weights are then those
                from before the update.
        """
        ...

    def save(self, directory: Path) -> None:
        """Write actor, critic, optimizers, schedules and random states into an empty folder."""
        ...

    def load(self, directory: Path) -> None:
        """Take back what `save` wrote.

        Raises:
            FileNotFoundError: naming the part that is missing.
        """
        ...

    def fingerprint(self) -> str:
        """Return a sha256 over the actor's parameters, equal only for equal weights."""
        ...

    def export(self, directory: Path) -> None:
        """Write the actor as a Hugging Face model directory."""
        ...
