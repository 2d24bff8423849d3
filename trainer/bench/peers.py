"""The workload on which other PPO trainers were measured: one step, split into its three parts.

One thread, float32, 32 prompts of 32 tokens, responses of 32 forced tokens, one epoch, one
minibatch, learning rates 1e-4, tied embeddings. A step includes the policy to stay near, with
its penalty in the reward, because the peers' PPO has one; the critic is a network of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from transformers import Qwen3ForCausalLM

from trainer.bench.figures import Figure
from trainer.bench.forced import Layout, play, sampler_for
from trainer.bench.timing import Spent, cpu_per_wall, spend
from trainer.policy.build import small_qwen3
from trainer.ppo.learner import LearnConfig, LearnSettings
from trainer.ppo.torch_learner import TorchLearner

VOCABULARY = 512
SETTINGS = LearnSettings(actor_lr=1e-4, critic_lr=1e-4, kl_coeff=0.05)


class Size(NamedTuple):
    """Shape of a peer's model."""

    hidden: int
    layers: int
    heads: int
    ffn: int


MODELS: Mapping[str, Size] = {"nano": Size(64, 2, 4, 256), "tiny": Size(256, 4, 4, 1024)}


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    layout: Layout = Layout(dialogues=32, prompt=32, reply=32, turns=1)
    steps: int = 12
    drop: int = 2
    """First steps that do not count."""
    models: tuple[str, ...] = tuple(MODELS)


FULL = Sizes()
QUICK = Sizes(steps=3, drop=1)


class Step(NamedTuple):
    """What one step took."""

    whole: Spent
    score_s: float
    """CPU seconds of this process, as are those below."""
    learn_s: float

    @property
    def rollout_s(self) -> float:
        """Seconds of everything but the update: sampling, and taking the new weights."""
        return self.whole.cpu_s - self.score_s - self.learn_s


def measure(sizes: Sizes) -> list[Figure]:
    """Time the steps of every model."""
    return [
        figure
        for name in sizes.models
        for figure in _figures(name, run_steps(peer_model(MODELS[name]), sizes)[sizes.drop :])
    ]


def peer_model(size: Size) -> Qwen3ForCausalLM:
    """Return a model of the peers' shape, with as many key/value heads as query heads."""
    return small_qwen3(
        VOCABULARY,
        hidden=size.hidden,
        layers=size.layers,
        heads=size.heads,
        kv_heads=size.heads,
        head_dim=size.hidden // size.heads,
        ffn=size.ffn,
        seed=0,
    )


def run_steps(model: Qwen3ForCausalLM, sizes: Sizes) -> list[Step]:
    """Train for some steps; return what each took."""
    layout = sizes.layout
    config = LearnConfig(minibatch_dialogues=layout.dialogues)
    reference = type(model)(model.config)
    reference.load_state_dict(model.state_dict())
    learner = TorchLearner(
        model, config, seed=0, reference_model=reference, clock=time.process_time
    )
    sampler = sampler_for(model, layout)
    steps: list[Step] = []
    for number in range(sizes.steps):
        inside: list[float] = []

        def step(number: int = number, inside: list[float] = inside) -> None:
            batch = play(sampler, layout, vocab_size=VOCABULARY, seed=number)
            stats = learner.step(batch, SETTINGS)
            sampler.sync(learner.policy_version)
            inside += [stats.score_s, stats.learn_s]

        whole = spend(step)
        steps.append(Step(whole, *inside))
    return steps


def _figures(name: str, steps: list[Step]) -> list[Figure]:
    busy = cpu_per_wall([step.whole for step in steps])
    parts = {
        "rollout": median(step.rollout_s for step in steps),
        "score": median(step.score_s for step in steps),
        "learn": median(step.learn_s for step in steps),
    }
    return [
        Figure(f"{name}: step", median(step.whole.cpu_s for step in steps), "s", None, busy),
        *(Figure(f"- {name}: {part}", seconds, "s") for part, seconds in parts.items()),
    ]
