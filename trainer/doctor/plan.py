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
from trainer.policy.lora_options import ALL_LINEAR, LoraOptions
from trainer.ppo.credit import ESTIMATORS
from trainer.ppo.deepspeed_options import DeepSpeedOptions
from trainer.ppo.forward import MAX_LOGITS
from trainer.recipe import ModelSize, RunConfig

SMOLLM2 = ModelShape(49_152, 576, 30, 9, 3, 64, 1536, tied=True)
USUAL_SHARE = 0.85
"""SGLang's share of a GPU where the recipe states none; it decides by the GPU, near this."""
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
    # Weights in float32 and Adam's two averages, of what learns of actor and critic.
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
        yield _held_against(plan.gpu, hardware.gpu_memory_gib * 2**30, "a GPU that learns")
        yield from _start_fit(patient.config)
        yield from _engine_fit(patient.config)
    host = plan.host if hardware.gpus else plan.gpu + plan.host
    available = available_bytes(patient.proc)
    if available is None:
        yield Finding("plan", Level.UNKNOWN, f"{gib(host)} on the host; its memory is not told")
    elif host:
        yield _held_against(host, available, "the host")


def _start_fit(config: RunConfig) -> Iterator[Finding]:
    """Check that the whole networks fit a GPU in float32, as every rank holds them at its start."""
    shape = shape_of(config)
    if config.backend != "deepspeed" or shape is None:
        return
    numbers = sum(_trained_parameters(config, shape).values())
    numbers += shape.parameters if config.deepspeed.zero_stage == 3 else 0
    each = on_ranks(config.deepspeed)
    # What is frozen is loaded in float32 too, and rounded when the engines take it over.
    size = 4 * numbers + RUNTIME_BYTES
    size += (4 if config.policy.lora else each.weights) * shape.parameters
    yield _held_against(size, config.hardware.gpu_memory_gib * 2**30, "a GPU while it loads")


def _engine_fit(config: RunConfig) -> Iterator[Finding]:
    """Check that the engines' caches hold the dialogues of a step, as long as they may get."""
    engine = serving(config)
    if engine is None:
        return
    part, tokens = engine
    replicas = config.sampler.launch.replicas
    most = config.rollout.dialogues_per_step * config.rollout.context_tokens
    told = f"{replicas} engines, each {part.how}; a step may hold {most} tokens"
    if tokens == 0:
        yield Finding("plan", Level.FAULT, f"{told}: raise mem-fraction-static")
    elif tokens * replicas < most:
        yield Finding("plan", Level.DOUBT, f"{told}: the longest are read again when it is full")
    else:
        yield Finding("plan", Level.OK, told)


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
    options = config.policy.lora
    if options is None:
        actor, critic = shape.parameters, shape.critic
    else:
        actor = shape.adapters(options.rank, _targets(options, shape))
        critic = actor + shape.hidden + 1
    needs_critic = ESTIMATORS[config.learner.credit].needs_critic
    return {"actor": actor} | ({"critic": critic} if needs_critic else {})


def _targets(options: LoraOptions, shape: ModelShape) -> list[str]:
    """Return the maps of a block that have adapters."""
    if ALL_LINEAR in options.targets:
        return list(shape.maps)
    return [name for name in shape.maps if any(one.endswith(name) for one in options.targets)]


def _width(config: RunConfig) -> int:
    """Return the bytes of a number that passes compute with."""
    lora = config.policy.lora
    if config.backend == "deepspeed":
        return 4 if config.deepspeed.dtype == "float32" else 2
    return 2 if lora is not None and lora.base_dtype == "bfloat16" else 4


def _learner(config: RunConfig, shape: ModelShape) -> Iterator[Part]:
    spread = config.backend == "deepspeed"
    each = on_ranks(config.deepspeed) if spread else _in_one_process(config)
    sharding = _sharding(config) if spread else Sharding()
    trained = _trained_parameters(config, shape)
    for name, parameters in trained.items():
        yield memory_plan.trained(name, parameters, each, sharding)
    if spread and sharding.stage:
        yield _buckets(config, len(trained))
    if sharding.stage == 3:
        yield memory_plan.frozen("actor, whole", shape.parameters, each.weights)
    yield memory_plan.frozen(
        # Under adapters the frozen model is actor, critic and reference at once.
        "frozen base" if config.policy.lora else "reference",
        shape.parameters,
        _width(config),
    )
    if spread:
        yield way_back(sum(trained.values()), each, sharding)
    tokens = max(config.learner.micro_batch_tokens, config.rollout.context_tokens)
    yield memory_plan.activations(
        shape,
        tokens,
        width=_width(config),
        recompute=config.learner.recompute_activations,
        logits=MAX_LOGITS,
    )
    if config.policy.lora is not None and _width(config) == 2 and not spread:
        yield memory_plan.adapter_inputs(
            shape,
            tokens,
            _targets(config.policy.lora, shape),
            again=config.learner.recompute_activations,
        )


def _sharding(config: RunConfig) -> Sharding:
    options = config.deepspeed
    return Sharding(config.hardware.ranks, options.zero_stage, options.offload_optimizer)


def on_ranks(options: DeepSpeedOptions) -> Bytes:
    """Return the bytes a number takes: gradients add up in float32, masters are float32.

    Source:
        DeepSpeed 0.19.8, counted by `tests/scale/test_memory.py`: the bf16 optimizer of stage 1
        sums float32 beside each pass's own gradients; float32 of stages 1 and 2, and stage 3,
        flatten what they sum before they step; an optimizer on the host has gradients there.
    """
    weights = 4 if options.dtype == "float32" else 2
    if options.zero_stage == 0:
        return Bytes(weights, 4, 8)
    narrow = weights == 2
    flattened = options.zero_stage == 3 or not narrow
    return Bytes(
        weights,
        4,
        12,
        passing=2 if narrow and options.zero_stage == 1 else 0,
        stepping=4 if flattened else 0,
        host=4 + weights,
    )


def _buckets(config: RunConfig, engines: int) -> Part:
    """Return the buffers in which gradients travel; stage 3 keeps one for each engine."""
    options = config.deepspeed
    count = engines if options.zero_stage == 3 else 1
    size = count * options.bucket_elements * (4 if options.zero_stage == 1 else _width(config))
    return Part("gradient buckets", size, how=f"{count} of {options.bucket_elements} numbers")


def way_back(parameters: int, each: Bytes, sharding: Sharding) -> Part:
    """Return the copy in main memory that undoes an update: every rank's own part of the states."""
    weights = each.weights * (1 if sharding.stage == 3 else sharding.ranks)
    optimizer = each.optimizer * (1 if sharding.stage else sharding.ranks)
    size = parameters * (optimizer + weights)
    return Part("way back", 0, size, f"on the host: {optimizer}+{weights} B/parameter")


def _in_one_process(config: RunConfig) -> Bytes:
    """Return the bytes a number takes; the way back is kept only where a later step may fail."""
    several = config.rollout.dialogues_per_step > config.learner.minibatch_dialogues
    several = several or int(config.knobs.get("agent", {}).get("ppo_epochs", 1)) > 1
    return SINGLE if several else Bytes(SINGLE.weights, SINGLE.gradients, SINGLE.optimizer)


def serving(config: RunConfig) -> tuple[Part, int] | None:
    """Return what an engine that the run starts takes of its GPU, and the tokens it then keeps.

    None where the run starts none, or the policy's shape is not known.
    """
    shape, hardware = shape_of(config), config.hardware
    if config.sampler.kind != "sglang" or config.sampler.urls or shape is None:
        return None
    share = float(config.sampler.launch.options.get("mem-fraction-static", USUAL_SHARE))
    return memory_plan.served(round(hardware.gpu_memory_gib * 2**30), share, shape, width=2)


def _apart(config: RunConfig) -> bool:
    """Whether engines have GPUs of their own."""
    return config.hardware.ranks + config.sampler.launch.replicas <= config.hardware.gpus


def _sampler(config: RunConfig, shape: ModelShape) -> Iterator[Part]:
    if config.sampler.kind == "local":
        width = _width(config)
        dialogues = -(-config.rollout.dialogues_per_step // config.hardware.ranks)
        tokens = dialogues * config.rollout.context_tokens
        yield memory_plan.key_values(shape, tokens, width=width)
        if config.rollout.overlap:
            # What is frozen under adapters is shared with the learner.
            copied = _trained_parameters(config, shape)["actor"]
            each = 4 if config.policy.lora else width
            yield memory_plan.frozen("sampler's copy", copied, each)
    elif (engine := serving(config)) is not None and not _apart(config):
        yield engine[0]
    if config.users.other == "local":
        folder = config.users.local_path
        other = SMOLLM2 if folder is None else model_shape.read(Path(folder))
        if other is not None:
            yield memory_plan.frozen("local user", other.parameters, 4)


def _runtime() -> Part:
    return Part("runtime", RUNTIME_BYTES, how="the tensor library itself, a round guess")
