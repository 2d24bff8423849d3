"""The memory plan of a recipe: its models, learner and sampler put into the arithmetic.

What a backend holds is told once, here; the sums are `trainer.memory_plan`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trainer import memory_plan, model_shape
from trainer.doctor.finding import Finding, Level, Patient
from trainer.doctor.machine import TIGHT, available_bytes
from trainer.memory_plan import SINGLE, Bytes, Part, Plan, Sharding, gib
from trainer.model_shape import ModelShape
from trainer.ppo.credit import ESTIMATORS
from trainer.ppo.forward import MAX_LOGITS
from trainer.recipe import ModelSize, RunConfig

SMOLLM2 = ModelShape(49_152, 576, 30, 9, 3, 64, 1536, tied=True)
RUNTIME_BYTES = 1 << 30
"""What the tensor library and its kernels take before any model: a round guess."""


def shape_of(config: RunConfig) -> ModelShape | None:
    """Return the shape of the policy; None where its folder does not tell."""
    policy = config.policy
    if policy.kind == "small":
        return _small(policy.size)
    if policy.kind == "smollm2":
        return SMOLLM2
    folder = Path(policy.path or "")
    return model_shape.read(folder / "policy" if policy.kind == "checkpoint" else folder)


def plan_of(config: RunConfig) -> Plan | None:
    """Return what a run holds; None where the policy's shape is not known."""
    shape = shape_of(config)
    if shape is None:
        return None
    return Plan((*_learner(config, shape), *_sampler(config, shape), _runtime()))


def checkpoint_bytes(config: RunConfig) -> int | None:
    """Return the size of one checkpoint; None where the policy's shape is not known."""
    shape = shape_of(config)
    if shape is None:
        return None
    # Weights in float32 and Adam's two averages, of actor and critic.
    return 12 * sum(_trained_parameters(config, shape).values())


def fit(patient: Patient) -> Iterator[Finding]:
    """Check that the plan fits the GPUs that the recipe is written for, or this machine."""
    if patient.config is None:
        return
    plan = plan_of(patient.config)
    if plan is None:
        told = "the policy's folder states no sizes that are known here, so no plan can be made"
        yield Finding("plan", Level.UNKNOWN, told)
        return
    hardware = patient.config.hardware
    if hardware.gpus:
        yield _held_against(plan.gpu, hardware.gpu_memory_gib * 2**30, "a GPU")
    host = plan.host if hardware.gpus else plan.gpu + plan.host
    available = available_bytes(patient.proc)
    if available is None:
        yield Finding("plan", Level.UNKNOWN, f"{gib(host)} on the host; its memory is not told")
    elif host:
        yield _held_against(host, available, "the host")


def _held_against(planned: float, there: float, place: str) -> Finding:
    told = f"{gib(planned)} planned of {gib(there)} on {place}"
    if planned > there:
        advice = "see the plan for what to make smaller"
        return Finding("plan", Level.FAULT, f"{told}: {advice}")
    if planned > there * TIGHT:
        return Finding("plan", Level.DOUBT, f"{told}: tight, since allocators waste some")
    return Finding("plan", Level.OK, told)


def _small(size: ModelSize) -> ModelShape:
    return ModelShape(
        size.vocab_size,
        size.hidden,
        size.layers,
        size.heads,
        size.kv_heads,
        size.head_dim,
        size.ffn,
        tied=True,
        head_norms=True,
    )


def _trained_parameters(config: RunConfig, shape: ModelShape) -> dict[str, int]:
    """Return the parameters of what learns, by name."""
    found = {"actor": shape.parameters}
    if ESTIMATORS[config.learner.credit].needs_critic:
        found["critic"] = shape.critic
    return found


def _learner(config: RunConfig, shape: ModelShape) -> Iterator[Part]:
    each = _in_one_process(config)
    for name, parameters in _trained_parameters(config, shape).items():
        yield memory_plan.trained(name, parameters, each, Sharding())
    yield memory_plan.frozen("reference", shape.parameters, each.weights)
    tokens = max(config.learner.micro_batch_tokens, config.rollout.context_tokens)
    yield memory_plan.activations(
        shape, tokens, width=each.weights, recompute=False, logits=MAX_LOGITS
    )


def _in_one_process(config: RunConfig) -> Bytes:
    """Return the bytes a number takes; the way back is kept only where a later step may fail."""
    several = config.rollout.dialogues_per_step > config.learner.minibatch_dialogues
    several = several or int(config.knobs.get("agent", {}).get("ppo_epochs", 1)) > 1
    return SINGLE if several else Bytes(SINGLE.weights, SINGLE.gradients, SINGLE.optimizer)


def _sampler(config: RunConfig, shape: ModelShape) -> Iterator[Part]:
    tokens = config.rollout.dialogues_per_step * config.rollout.context_tokens
    yield memory_plan.key_values(shape, tokens, width=4)
    if config.users.other == "local":
        folder = config.users.local_path
        other = SMOLLM2 if folder is None else model_shape.read(Path(folder))
        if other is not None:
            yield memory_plan.frozen("local user", other.parameters, 4)


def _runtime() -> Part:
    return Part("runtime", RUNTIME_BYTES, how="the tensor library itself, a round guess")
