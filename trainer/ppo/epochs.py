"""The gradient steps of one update: epochs of shuffled minibatches, whole or not at all.

A minibatch may be cut into passes of any size without changing its gradient. A loss or gradient
that is not finite stops the update before the step it would have spoilt. This module knows nothing
about how the lessons came about.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from trainer import seeds
from trainer.ppo.batch import minibatches
from trainer.ppo.lessons import Lessons
from trainer.ppo.objective import ActorTerms, actor_loss, critic_loss
from trainer.ppo.peers import ALONE, Peers
from trainer.ppo.trained import Networks, Trained

_LARGEST = "ratio_log_max"
"""The one number that a pass reports as a maximum, not as a sum."""


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

    def add(self, found: dict[str, float]) -> None:
        """Add one minibatch's sums."""
        for name, value in found.items():
            if name == _LARGEST:
                ratio = math.exp(min(value, 20.0))
                self.ratio_max = max(self.ratio_max, ratio)
                if self.steps == 0:
                    self.ratio_first_minibatch_max = self.ratio_max
            else:
                self.sums[name] = self.sums.get(name, 0.0) + value

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
    peers: Peers = ALONE,
) -> dict[str, float]:
    """Take every gradient step of one update.

    Args:
        networks: What learns; learning rates are already set.
        lessons: The whole batch; the same for every peer.
        terms: Clip ranges and coefficients of the actor's loss.
        plan: Epochs, minibatches, passes, limits.
        seed: The learner's seed.
        version: Updates made before this one.
        peers: Who shares the passes.

    Returns:
        Means per action token, gradient norms before clipping, counts.

    Raises:
        FloatingPointError: at the first loss or gradient that is not finite. Steps before it have
            been taken: the caller puts the weights back.
    """
    tally = Tally()
    learning = [("actor", networks.actor)] if plan.train_actor else []
    learning += [("critic", networks.critic)] if networks.critic else []
    batches = shuffled_minibatches(len(lessons.lengths_B), plan, seed=seed, version=version)
    for rows in batches:
        networks.forget_gradients()
        minibatch = lessons.rows(rows)
        tally.actions += minibatch.num_actions
        tally.add(_accumulate(dict(learning), minibatch, terms, plan, peers))
        _check_finite(tally.sums, version, tally.steps)
        norms = {
            f"{name}_grad_norm": trained.clip(plan.max_grad_norm) for name, trained in learning
        }
        _check_finite(norms, version, tally.steps)
        for name, trained in learning:
            trained.step()
            tally.add_norm(f"{name}_grad_norm", norms[f"{name}_grad_norm"])
        tally.steps += 1
    networks.forget_gradients()
    return tally.metrics()


def _accumulate(
    learning: dict[str, Trained], minibatch: Lessons, terms: ActorTerms, plan: Plan, peers: Peers
) -> dict[str, float]:
    """Add up the gradients of one minibatch, pass by pass; returns its sums over all peers."""
    # A minibatch may be dropped whole: its loss is then 0, not 0 by 0.
    heard = max(minibatch.num_actor_actions, 1)
    passes = peers.passes(minibatch.lengths_B, max_tokens=plan.micro_batch_tokens)
    found: dict[str, Tensor] = {}
    for number, (rows, counts) in enumerate(passes, start=1):
        part = minibatch.rows(rows) if len(rows) < len(minibatch.lengths_B) else minibatch
        losses = {
            "actor": partial(actor_loss, lessons=part, terms=terms, total_actions=heard),
            "critic": partial(
                critic_loss,
                lessons=part,
                value_clip=plan.value_clip,
                total_actions=minibatch.num_actions,
            ),
        }
        for name, trained in learning.items():
            loss, sums = peers.visit(trained.network, losses[name])
            trained.backward(loss if counts else loss * 0.0, last=number == len(passes))
            for key, value in sums.items():
                value = value.double() if counts else torch.zeros_like(value, dtype=torch.float64)
                before = found.get(key, torch.zeros_like(value))
                found[key] = torch.maximum(before, value) if key == _LARGEST else before + value
    return _over_all(found, peers)


def _over_all(found: dict[str, Tensor], peers: Peers) -> dict[str, float]:
    """Add this process's sums up with those of its peers."""
    if not found:
        return {}
    names = sorted(found)
    sums_M = torch.stack([found[name] for name in names])
    totals, largest = peers.total(sums_M.clone()).tolist(), peers.largest(sums_M).tolist()
    return {name: largest[at] if name == _LARGEST else totals[at] for at, name in enumerate(names)}


def _check_finite(numbers: dict[str, float], version: int, step: int) -> None:
    """Stop before an optimizer takes a step that would spoil the weights."""
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise FloatingPointError(
                f"{name} is {value} in update {version}, optimizer step {step}; the weights from "
                "before the update are back in force. Lower the learning rate, or look at the "
                "batch's rewards and log-probabilities"
            )
