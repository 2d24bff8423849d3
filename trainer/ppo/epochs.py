"""The gradient steps of one update: epochs of shuffled minibatches, whole or not at all.

A minibatch may be cut into passes of any size without changing its gradient. A loss or gradient
that is not finite stops the update before the step it would have spoilt. This module knows nothing
about how the lessons came about.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import Tensor, nn
from torch.optim import Optimizer

from trainer import seeds
from trainer.ppo.batch import micro_batches, minibatches
from trainer.ppo.critic import Critic
from trainer.ppo.lessons import Lessons
from trainer.ppo.objective import ActorTerms, actor_loss, critic_loss

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Networks:
    """What is trained, each with its own optimizer."""

    actor: PreTrainedModel
    actor_optimizer: Optimizer
    critic: Critic | None
    critic_optimizer: Optimizer | None


@dataclass(frozen=True)
class Plan:
    """How often and how finely an update goes over its lessons."""

    epochs: int
    minibatch_dialogues: int
    micro_batch_tokens: int
    max_grad_norm: float
    value_clip: float | None
    train_actor: bool
    """False while only the critic learns."""


@dataclass
class Tally:
    """Sums over the action tokens and the optimizer steps of one update."""

    sums: dict[str, float] = field(default_factory=dict)
    actions: int = 0
    steps: int = 0
    ratio_first_minibatch_max: float = 1.0
    ratio_max: float = 1.0

    def add(self, found: dict[str, Tensor]) -> None:
        """Add one pass's sums."""
        for name, value in found.items():
            if name == "ratio_log_max":
                ratio = math.exp(min(float(value), 20.0))
                self.ratio_max = max(self.ratio_max, ratio)
                if self.steps == 0:
                    self.ratio_first_minibatch_max = self.ratio_max
            else:
                self.sums[name] = self.sums.get(name, 0.0) + float(value)

    def add_norm(self, name: str, norm: float) -> None:
        """Add one optimizer step's gradient norm."""
        self.sums[name] = self.sums.get(name, 0.0) + norm

    def metrics(self) -> dict[str, float]:
        """Return means: per action token, or per optimizer step for gradient norms."""
        return {
            name: total / (self.steps if name.endswith("grad_norm") else self.actions)
            for name, total in self.sums.items()
        } | {
            "optimizer_steps": float(self.steps),
            "ratio_max": self.ratio_max,
            "ratio_first_minibatch_max": self.ratio_first_minibatch_max,
        }


def shuffled_minibatches(
    num_rows: int, plan: Plan, *, seed: int, version: int
) -> Iterator[list[int]]:
    """Yield the rows of each optimizer step, in an order that is a function of its counters.

    Args:
        num_rows: Trajectories of the batch.
        plan: Epochs and minibatch size.
        seed: The learner's seed.
        version: Updates made before this one.
    """
    for epoch in range(plan.epochs):
        order = list(range(num_rows))
        seeds.stream(seed, "minibatches", version, epoch).shuffle(order)
        yield from minibatches(order, dialogues=plan.minibatch_dialogues)


def run_epochs(
    networks: Networks,
    lessons: Lessons,
    terms: ActorTerms,
    plan: Plan,
    *,
    seed: int,
    version: int,
) -> dict[str, float]:
    """Take every gradient step of one update.

    Args:
        networks: What learns; learning rates are already set.
        lessons: The whole batch.
        terms: Clip ranges and coefficients of the actor's loss.
        plan: Epochs, minibatches, passes, limits.
        seed: The learner's seed.
        version: Updates made before this one.

    Returns:
        Means per action token, gradient norms before clipping, counts.

    Raises:
        FloatingPointError: at the first loss or gradient that is not finite. Steps before it have
            been taken: the caller puts the weights back.
    """
    tally = Tally()
    batches = shuffled_minibatches(len(lessons.lengths_B), plan, seed=seed, version=version)
    for rows in batches:
        _accumulate(networks, lessons.rows(rows), terms, plan, tally)
        norms: dict[str, float] = {}
        if plan.train_actor:
            norms["actor_grad_norm"] = _clip(networks.actor, plan.max_grad_norm)
        if networks.critic is not None:
            norms["critic_grad_norm"] = _clip(networks.critic, plan.max_grad_norm)
        _check_finite(tally.sums | norms, version, tally.steps)
        if plan.train_actor:
            networks.actor_optimizer.step()
        if networks.critic_optimizer is not None:
            networks.critic_optimizer.step()
        for name, norm in norms.items():
            tally.add_norm(name, norm)
        tally.steps += 1
    forget_gradients(networks)
    return tally.metrics()


def _accumulate(
    networks: Networks, minibatch: Lessons, terms: ActorTerms, plan: Plan, tally: Tally
) -> None:
    """Add up the gradients of one minibatch, pass by pass."""
    forget_gradients(networks)
    total_actions = minibatch.num_actions
    tally.actions += total_actions
    passes = micro_batches(minibatch.lengths_B, max_tokens=plan.micro_batch_tokens)
    for rows in passes:
        part = minibatch.rows(rows) if len(passes) > 1 else minibatch
        if plan.train_actor:
            loss, sums = actor_loss(networks.actor, part, terms, total_actions=total_actions)
            loss.backward()
            tally.add(sums)
        if networks.critic is not None:
            loss, sums = critic_loss(
                networks.critic, part, value_clip=plan.value_clip, total_actions=total_actions
            )
            loss.backward()
            tally.add(sums)


def _clip(module: nn.Module, max_norm: float) -> float:
    """Clip a network's gradient to a norm and return the norm it had."""
    return float(nn.utils.clip_grad_norm_(module.parameters(), max_norm))


def forget_gradients(networks: Networks) -> None:
    """Free the gradients, those of an update that failed too."""
    for optimizer in (networks.actor_optimizer, networks.critic_optimizer):
        if optimizer is not None:
            optimizer.zero_grad(set_to_none=True)


def _check_finite(numbers: dict[str, float], version: int, step: int) -> None:
    """Stop before an optimizer takes a step that would spoil the weights."""
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise FloatingPointError(
                f"{name} is {value} in update {version}, optimizer step {step}; the weights from "
                "before the update are back in force. Lower the learning rate, or look at the "
                "batch's rewards and log-probabilities"
            )
