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

from trainer import seeds
from trainer.ppo.batch import pack
from trainer.ppo.config_check import check_config
from trainer.ppo.credit import ESTIMATORS
from trainer.ppo.critic import critic_like
from trainer.ppo.epochs import Networks, Plan, forget_gradients, run_epochs
from trainer.ppo.forward import check_head
from trainer.ppo.learner import LearnConfig, LearnSettings, UpdateStats
from trainer.ppo.learner_files import LearnerState, read_state, write_state
from trainer.ppo.lessons import Lessons, credit_batch, lessons_from
from trainer.ppo.objective import ActorTerms
from trainer.ppo.optimization import (
    make_optimizer,
    memory_by_parameter,
    optimizer_tensors,
    put_back_optimizer,
    rate_in_force,
    set_rate,
)
from trainer.ppo.schedules import lr_factor
from trainer.ppo.scoring import score
from trainer.ppo.update_report import batch_metrics
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
                that holds the same object sees every update.
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
        self._actor = _on(actor_model, device)
        check_head(self._actor)
        self._reference = None
        if reference_model is not None:
            self._reference = _on(reference_model, device).requires_grad_(False)
        self._estimator = ESTIMATORS[config.credit]
        self._critic = critic_like(self._actor).eval() if self._estimator.needs_critic else None
        self._networks = Networks(
            self._actor,
            make_optimizer(self._actor, weight_decay=config.weight_decay),
            self._critic,
            self._critic and make_optimizer(self._critic, weight_decay=config.weight_decay),
        )

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
        if settings.kl_coeff and self._reference is None:
            raise ValueError(
                f"agent.kl_coeff is {settings.kl_coeff}, but the run has no reference model; "
                "start it with one, or set kl_coeff to 0"
            )
        started = self._clock()
        batch = pack(trajectories, device=self._device)
        scores = score(
            batch,
            self._actor,
            self._critic,
            self._reference,
            temperature=self.config.temperature,
            bootstrap_truncated=self.config.bootstrap_truncated,
            max_tokens=self.config.micro_batch_tokens,
            masked_feedback=self._estimator.needs_masked_feedback,
        )
        seed = seeds.derive(self._seed, "credit", self._version)
        evidence = credit_batch(batch, scores, settings, self.config, seed=seed)
        credit = self._estimator.estimate(evidence, settings, self.config)
        lessons = lessons_from(batch, scores, credit, self.config)
        report = batch_metrics(batch, scores, credit, lessons, tis_cap=self.config.tis_cap)
        report["staleness_max"] = float(self._version - min(t.policy_version for t in trajectories))
        scored = self._clock()
        report |= self._learn(lessons, settings)
        self._version += 1
        return UpdateStats(report, score_s=scored - started, learn_s=self._clock() - scored)

    def save(self, directory: Path) -> None:
        """Write actor, critic, optimizers, counters and random state into an empty folder.

        Raises:
            FileExistsError: if the folder already holds a learner's state.
        """
        parts: dict[str, dict[str, Tensor]] = {"random": {"torch_cpu": torch.get_rng_state()}}
        for name, module, optimizer in self._trained():
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
        trained = self._trained()
        for part in (
            "random",
            *(f"{name}{kind}" for name, _, _ in trained for kind in ("", "_optimizer")),
        ):
            if part not in state.tensors:
                raise FileNotFoundError(f"the checkpoint {directory} lacks its part {part}")
        # Everything is checked before anything is touched: a refused checkpoint leaves no trace.
        for name, module, _ in trained:
            origin = str(directory / name)
            check_fit(module, state.tensors[name], origin=origin)
            memory_by_parameter(module, state.tensors[f"{name}_optimizer"], origin=origin)
        for name, module, optimizer in trained:
            origin = str(directory / name)
            put_back(module, state.tensors[name], origin=origin)
            memory = state.tensors[f"{name}_optimizer"]
            put_back_optimizer(optimizer, module, memory, origin=origin)
        torch.set_rng_state(state.tensors["random"]["torch_cpu"])
        self._version, self._seed = state.policy_version, state.seed

    def fingerprint(self) -> str:
        """Return a sha256 over the actor's parameters, equal only for equal weights."""
        return fingerprint(self._actor)

    def export(self, directory: Path) -> None:
        """Write the actor as a Hugging Face model directory (safetensors)."""
        self._actor.save_pretrained(directory)

    def _learn(self, lessons: Lessons, settings: LearnSettings) -> dict[str, float]:
        """Take the gradient steps at the scheduled rates, or none of them."""
        config = self.config
        train_actor = self._version >= config.critic_warmup_steps
        rates = self._set_rates(settings, train_actor=train_actor)
        plan = Plan(
            epochs=settings.ppo_epochs,
            minibatch_dialogues=config.minibatch_dialogues,
            micro_batch_tokens=config.micro_batch_tokens,
            max_grad_norm=config.max_grad_norm,
            value_clip=config.value_clip,
            train_actor=train_actor,
        )
        terms = ActorTerms(
            clip_low=settings.clip_low,
            clip_high=settings.clip_high,
            dual_clip=config.dual_clip,
            entropy_coeff=settings.entropy_coeff,
            kl_loss_coeff=settings.kl_coeff if config.kl_mode == "loss" else 0.0,
            temperature=config.temperature,
        )
        several = settings.ppo_epochs > 1 or len(lessons.lengths_B) > config.minibatch_dialogues
        before = self._snapshot() if several else []
        try:
            found = run_epochs(
                self._networks, lessons, terms, plan, seed=self._seed, version=self._version
            )
        except FloatingPointError:
            forget_gradients(self._networks)
            self._restore(before)
            raise
        return found | rates

    def _set_rates(self, settings: LearnSettings, *, train_actor: bool) -> dict[str, float]:
        """Set the optimizers' rates for this update and return what they then hold."""
        config = self.config
        factor = lr_factor(
            config.lr_schedule,
            self._version,
            warmup=config.lr_warmup_steps,
            decay=config.lr_decay_steps,
        )
        live = {"actor": settings.actor_lr if train_actor else 0.0, "critic": settings.critic_lr}
        rates: dict[str, float] = {}
        for name, _, optimizer in self._trained():
            set_rate(optimizer, live[name] * factor)
            rates[f"{name}_lr"] = rate_in_force(optimizer)
        return rates

    def _trained(self) -> list[tuple[str, nn.Module, Optimizer]]:
        """List what is trained: name, network, optimizer."""
        networks = self._networks
        trained: list[tuple[str, nn.Module, Optimizer]] = [
            ("actor", networks.actor, networks.actor_optimizer)
        ]
        if networks.critic is not None and networks.critic_optimizer is not None:
            trained.append(("critic", networks.critic, networks.critic_optimizer))
        return trained

    def _snapshot(self) -> list[tuple[dict[str, Tensor], dict[str, Tensor]]]:
        """Copy weights and optimizer memory; needed only where a later step may fail."""
        return [
            (clones(named_tensors(module)), clones(optimizer_tensors(optimizer, module)))
            for _, module, optimizer in self._trained()
        ]

    def _restore(self, before: list[tuple[dict[str, Tensor], dict[str, Tensor]]]) -> None:
        """Put a snapshot back; an empty one means that no step was taken."""
        for (_, module, optimizer), (weights, memory) in zip(self._trained(), before, strict=False):
            put_back(module, weights, origin="the snapshot")
            put_back_optimizer(optimizer, module, memory, origin="the snapshot")


def _on(model: PreTrainedModel, device: str) -> PreTrainedModel:
    """Move a model, in place, and switch its dropout off."""
    nn.Module.to(model, device)
    return model.eval()
