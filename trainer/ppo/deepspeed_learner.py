"""PPO with a learned critic on many ranks, by DeepSpeed: the same update as on one.

Actor and critic are an engine each. Every rank is given the whole batch and scores its passes of
it; credit and whitening are computed by all from the same numbers, and losses are means over the
action tokens of the whole minibatch, over all ranks. A checkpoint is the `torch` learner's own.
All ranks call every method together. This module knows nothing about knob files or records.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from trainer.policy.lora import plain
from trainer.policy.narrowing import hold_in
from trainer.ppo.config_check import check_config
from trainer.ppo.credit import ESTIMATORS
from trainer.ppo.critic import critic_like
from trainer.ppo.deepspeed_engine import Engine
from trainer.ppo.deepspeed_options import DeepSpeedOptions
from trainer.ppo.deepspeed_ranks import Ranks
from trainer.ppo.deepspeed_state import (
    Snapshot,
    copy_to,
    put_back_memory,
    put_back_weights,
    whole_memory,
    whole_weights,
)
from trainer.ppo.forward import check_head
from trainer.ppo.learner import LearnConfig, LearnSettings, UpdateStats
from trainer.ppo.learner_files import LearnerState, read_state, require_parts, write_state
from trainer.ppo.optimization import memory_by_parameter
from trainer.ppo.peers import Peers
from trainer.ppo.trained import Networks, resident
from trainer.ppo.update import Update, learn, prepare
from trainer.ppo.weights import check_fit, fingerprint
from trainer.trajectory import Trajectory

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class DeepSpeedLearner:
    """Improves one transformers model on all ranks of a job; implements `Learner`."""

    def __init__(
        self,
        actor_model: PreTrainedModel,
        config: LearnConfig,
        options: DeepSpeedOptions,
        ranks: Ranks,
        *,
        seed: int,
        reference_model: PreTrainedModel | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Take over a policy; every rank passes the same.

        Args:
            actor_model: A causal language model in float32. A sampler that holds it sees every
                update: it is what is trained, or under stage 3, where a rank holds only a part,
                a whole copy that follows.
            config: What is fixed for the run.
            options: Stage, offload, dtype.
            ranks: This process's place in the job.
            seed: Source of the minibatch shuffles.
            reference_model: The policy to stay near; every rank holds it whole.
            clock: Seconds, for the two durations of `UpdateStats`.

        Raises:
            ValueError: naming the field of `config` that cannot be followed, or what the model
                does that the learner would get wrong.
        """
        check_config(config)
        self.config = config
        self._seed, self._clock, self._ranks = seed, clock, ranks
        self._version = 0
        self._actor = resident(actor_model, ranks.device)
        check_head(self._actor)
        self._reference = None
        if reference_model is not None:
            self._reference = resident(reference_model, ranks.device).requires_grad_(False)
        critic = critic_like(self._actor) if ESTIMATORS[config.credit].needs_critic else None
        trained = copy.deepcopy(self._actor) if options.zero_stage == 3 else self._actor
        networks: list[tuple[str, nn.Module]] = [("actor", trained)]
        networks += [] if critic is None else [("critic", critic)]
        self._engines = {
            name: Engine(
                network,
                options,
                weight_decay=config.weight_decay,
                max_grad_norm=config.max_grad_norm,
                size=ranks.size,
            )
            for name, network in networks
        }
        hold_in(self._actor, _DTYPES[options.dtype])
        self._follow()
        self._networks = Networks(self._engines["actor"], self._engines.get("critic"))
        self._peers = Peers(ranks.rank, ranks.size, self._visit, ranks.total, ranks.largest)

    @property
    def policy_version(self) -> int:
        """How many updates the policy has had; those that only trained the critic count."""
        return self._version

    def step(self, trajectories: Sequence[Trajectory], settings: LearnSettings) -> UpdateStats:
        """Run one PPO update over the batch: score, estimate credit, learn.

        Args:
            trajectories: Finished episodes of all ranks, the same in the same order on each.
            settings: The knobs in force for this update.

        Raises:
            ValueError: if a trajectory breaks the token-stream contract, or a setting asks for
                something this learner was not given.
            FloatingPointError: on all ranks, if a number is not finite; weights and optimizers
                are then those from before the update.
        """
        started = self._clock()
        update = Update(self.config, settings, self._seed, self._version, self._peers)
        lessons, report = prepare(
            update, self._networks, self._reference, trajectories, device=self._ranks.device
        )
        scored = self._clock()
        before = [Snapshot(engine) for engine in self._engines.values()]
        try:
            report |= learn(update, self._networks, lessons)
        except FloatingPointError:
            for engine, snapshot in zip(self._engines.values(), before, strict=True):
                engine.drop_step()
                snapshot.put_back()
            raise
        self._follow()
        self._version += 1
        return UpdateStats(report, score_s=scored - started, learn_s=self._clock() - scored)

    def save(self, directory: Path) -> None:
        """Write actor, critic, optimizers, counters and random state; rank 0 alone writes.

        Raises:
            FileExistsError: if the folder already holds a learner's state.
        """
        parts: dict[str, Any] = {"random": {"torch_cpu": torch.get_rng_state()}}
        for name, engine in self._engines.items():
            parts[name] = whole_weights(engine, self._ranks)
            parts[f"{name}_optimizer"] = whole_memory(engine, self._ranks)
        if self._ranks.leads:
            write_state(directory, LearnerState(self._version, self._seed, parts))

    def load(self, directory: Path) -> None:
        """Take back what `save` of either learner wrote; rank 0 alone reads.

        Raises:
            FileNotFoundError: on rank 0, naming the part that is missing.
            ValueError: on rank 0, naming the part that is damaged or belongs to another model.
        """
        state = self._read(directory) if self._ranks.leads else LearnerState(0, 0, {})
        for name, engine in self._engines.items():
            put_back_weights(engine, state.tensors.get(name, {}), self._ranks)
            put_back_memory(engine, state.tensors.get(f"{name}_optimizer", {}), self._ranks)
        random = state.tensors["random"]["torch_cpu"] if self._ranks.leads else None
        self._version, self._seed, random = self._ranks.broadcast(
            (state.policy_version, state.seed, random)
        )
        torch.set_rng_state(random)
        self._follow()

    def fingerprint(self) -> str:
        """Return a sha256 over the actor's parameters, equal only for equal weights."""
        return fingerprint(self._actor)

    def export(self, directory: Path) -> None:
        """Write the actor, consolidated, as a Hugging Face model directory; rank 0 writes."""
        if self._ranks.leads:
            plain(self._actor).save_pretrained(directory)

    def _read(self, directory: Path) -> LearnerState:
        """Read a state and check all of it before anything is touched."""
        state = read_state(directory)
        require_parts(state, directory, tuple(self._engines))
        for name, engine in self._engines.items():
            origin = str(directory / name)
            network = engine.network
            check_fit(network, state.tensors[name], origin=origin)
            memory_by_parameter(network, state.tensors[f"{name}_optimizer"], origin=origin)
        return state

    def _visit(self, network: nn.Module, compute: Callable[[Any], Any]) -> Any:
        """Compute with a network through its engine."""
        engine = next(one for one in self._engines.values() if one.network is network)
        return engine.visit(compute)

    def _follow(self) -> None:
        """Let the model that samplers hold show the weights in force."""
        if self._engines["actor"].network is not self._actor:
            copy_to(self._actor, self._engines["actor"])
