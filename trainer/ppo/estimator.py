"""The one signature of credit: what a method may look at, and what it must return.

Each method is a file of its own; `trainer.ppo.credit` lists them by name. This module knows
nothing about models, losses or optimizers.

Dimensions: B trajectories, T tokens, S most segments of one trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from trainer.ppo.batch import Reactions
from trainer.ppo.learner import LearnConfig, LearnSettings


@dataclass(frozen=True)
class CreditBatch:
    """What an estimator may look at; all tensors are constants."""

    rewards_BT: Tensor
    """The world's rewards, nonzero on action tokens only."""
    kl_rewards_BT: Tensor
    """Minus the penalty for leaving the reference policy; 0 where there is none."""
    action_mask_BT: Tensor
    turn_ids_BT: Tensor
    """Agent turn of each action token, nondecreasing; -1 elsewhere."""
    segment_ids_BT: Tensor
    """Segment between two user turns of each action token; -1 elsewhere."""
    group_ids_B: Tensor
    """Equal for rollouts of one task in one step, counted from 0."""
    values_BT: Tensor | None
    """The critic's estimate of the state before each token; None for a method without critic."""
    bootstrap_B: Tensor | None
    """Value after the last action of a truncated row, 0 for a terminated one."""
    reactions: Reactions | None = None
    """How each segment was taken by the user who answered it."""
    logprob_gains_BT: Tensor | None = None
    """How much likelier each action token is than if the feedback before its turn had said
    nothing, in nats; 0 elsewhere. None where nobody asked."""
    informed_BT: Tensor | None = None
    """True on the action tokens that have such a gain, be it 0."""
    seed: int = 0
    """For methods that draw; differs from update to update."""


@dataclass(frozen=True)
class Credit:
    """What an estimator found."""

    advantages_BT: Tensor
    """Per action token, in the units of reward unless the method normalises; 0 elsewhere."""
    returns_BT: Tensor
    """The critic's targets, in the units of reward; 0 elsewhere."""
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    """The method's own numbers; the update reports them under `credit_<name>`."""


@dataclass(frozen=True)
class Estimator:
    """One method of credit."""

    estimate: Callable[[CreditBatch, LearnSettings, LearnConfig], Credit]
    needs_critic: bool
    """Whether `values_BT` must be there, and a critic be trained."""
    needs_groups: bool = False
    """Whether rollouts are compared within their task. Such advantages have a scale of their own
    and are never whitened: that would pay every token of a task whose rollouts are all alike."""
    needs_masked_feedback: bool = False
    """Whether scoring must find `logprob_gains_BT`, for one more forward pass."""
