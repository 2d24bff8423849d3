"""PPO with a learned critic on one process: trajectories in, a better policy out.

Models stay in evaluation mode, for a dropped unit would make the ratio of new to old policy noise.
All chance is a function of the seed and of the count of updates, so a learner that was saved and
loaded goes on bit for bit. This module puts the pure numerics of its package in order; it knows
nothing about words, worlds, users or knob files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from trainer.policy.lora import plain
from trainer.ppo.config_check import check_config
from trainer.ppo.credit import ESTIMATORS
from trainer.ppo.critic import critic_like
from trainer.ppo.forward import check_head
from trainer.ppo.learner import LearnConfig, LearnSettings, UpdateStats
from trainer.ppo.learner_files import LearnerState, read_state, require_parts, write_state
from trainer.ppo.optimization import (
    make_optimizer,
    memory_by_parameter,
    optimizer_tensors,
    put_back_optimizer,
)
from trainer.ppo.trained import Networks, Resident, resident
from trainer.ppo.update import Update, learn, prepare
from trainer.ppo.weights import check_fit, clones, fingerprint, named_tensors, put_back
from trainer.trajectory import Trajectory

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class TorchLearner:
    """Improves one transformers model in this process; implements `Learner`."""

    def __init__(
        self,
        actor_model: PreTrainedModel,
        config: LearnConfig,
        *,
        seed: int,
        device: str = "cpu",
        reference_model: PreTrainedModel | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Take over a policy.

        Args:
            actor_model: A causal language model in float32; it is trained in place, so a sampler
                that holds the same object sees every update. Of one that is frozen under
                adapters, these alone are trained, held and saved, the critic's own beside them.
            config: What is fixed for the run.
            seed: Source of the minibatch shuffles.
            device: Where the models are moved.
            reference_model: The policy to stay near; needed before `kl_coeff` may leave 0.
            clock: Seconds, for the two durations of `UpdateStats`.

        Raises:
            ValueError: naming the field of `config` that cannot be followed, or what the model
                does that the learner would get wrong.
        """
        check_config(config)
        self.config = config
        self._seed = seed
        self._clock = clock
        self._version = 0
        self._device = device
        self._actor = resident(actor_model, device)
        check_head(self._actor)
        self._reference = None
        if reference_model is not None:
            self._reference = resident(reference_model, device).requires_grad_(False)
        self._trained = {"actor": _trained(self._actor, config)}
        if ESTIMATORS[config.credit].needs_critic:
            self._trained["critic"] = _trained(critic_like(self._actor).eval(), config)
        self._networks = Networks(self._trained["actor"], self._trained.get("critic"))

    @property
    def policy_version(self) -> int:
        """How many updates the policy has had; those that only trained the critic count."""
        return self._version

    @property
    def actor(self) -> PreTrainedModel:
        """The policy being trained, for a sampler in the same process."""
        return self._actor

    def step(self, trajectories: Sequence[Trajectory], settings: LearnSettings) -> UpdateStats:
        """Run one PPO update over the batch: score, estimate credit, learn.

        The metric `kl` (to the reference) is there only when the learner has a reference.

        Args:
            trajectories: Finished episodes, at least one, each with an action token.
            settings: The knobs in force for this update.

        Raises:
            ValueError: if a trajectory breaks the token-stream contract, or a setting asks for
                something this learner was not given.
            FloatingPointError: if a number is not finite; weights and optimizers are then those
                from before the update.
        """
        started = self._clock()
        update = Update(self.config, settings, self._seed, self._version)
        lessons, report = prepare(
            update, self._networks, self._reference, trajectories, device=self._device
        )
        scored = self._clock()
        before = self._snapshot() if update.takes_several_steps(len(trajectories)) else {}
        try:
            report |= learn(update, self._networks, lessons)
        except FloatingPointError:
            self._networks.forget_gradients()
            self._restore(before)
            raise
        self._version += 1
        return UpdateStats(report, score_s=scored - started, learn_s=self._clock() - scored)

    def save(self, directory: Path) -> None:
        """Write actor, critic, optimizers, counters and random state into an empty folder.

        Raises:
            FileExistsError: if the folder already holds a learner's state.
        """
        parts: dict[str, dict[str, Tensor]] = {"random": {"torch_cpu": torch.get_rng_state()}}
        for name, (module, optimizer) in self._modules():
            parts[name] = named_tensors(module)
            parts[f"{name}_optimizer"] = optimizer_tensors(optimizer, module)
        write_state(directory, LearnerState(self._version, self._seed, parts))

    def load(self, directory: Path) -> None:
        """Take back what `save` wrote, the seed of the shuffles included.

        Raises:
            FileNotFoundError: naming the part that is missing.
            ValueError: naming the part that is damaged or belongs to another model.
        """
        state = read_state(directory)
        require_parts(state, directory, tuple(self._trained))
        # Everything is checked before anything is touched: a refused checkpoint leaves no trace.
        for name, (module, _) in self._modules():
            origin = str(directory / name)
            check_fit(module, state.tensors[name], origin=origin)
            memory_by_parameter(module, state.tensors[f"{name}_optimizer"], origin=origin)
        for name, (module, optimizer) in self._modules():
            origin = str(directory / name)
            put_back(module, state.tensors[name], origin=origin)
            memory = state.tensors[f"{name}_optimizer"]
            put_back_optimizer(optimizer, module, memory, origin=origin)
        torch.set_rng_state(state.tensors["random"]["torch_cpu"])
        self._version, self._seed = state.policy_version, state.seed

    def fingerprint(self) -> str:
        """Return a sha256 over what learns of the actor, equal only for equal weights."""
        return fingerprint(self._actor)

    def export(self, directory: Path) -> None:
        """Write the actor as a Hugging Face model directory (safetensors)."""
        plain(self._actor).save_pretrained(directory)

    def _modules(self) -> list[tuple[str, tuple[nn.Module, Optimizer]]]:
        """List what is trained: name, then network and optimizer."""
        return [(name, (one.network, one.optimizer)) for name, one in self._trained.items()]

    def _snapshot(self) -> dict[str, tuple[dict[str, Tensor], dict[str, Tensor]]]:
        """Copy weights and optimizer memory; needed only where a later step may fail."""
        return {
            name: (clones(named_tensors(module)), clones(optimizer_tensors(optimizer, module)))
            for name, (module, optimizer) in self._modules()
        }

    def _restore(self, before: dict[str, tuple[dict[str, Tensor], dict[str, Tensor]]]) -> None:
        """Put a snapshot back; an empty one means that no step was taken."""
        for name, (weights, memory) in before.items():
            one = self._trained[name]
            put_back(one.network, weights, origin="the snapshot")
            put_back_optimizer(one.optimizer, one.network, memory, origin="the snapshot")


def _trained(network: nn.Module, config: LearnConfig) -> Resident:
    """Give a network its optimizer."""
    return Resident(network, make_optimizer(network, weight_decay=config.weight_decay))
