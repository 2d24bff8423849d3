"""The preflight: what a recipe asks for is there and fits together, before anything is written.

Types were checked when the recipe was read (`trainer.recipe_file`); here its values are held
against the worlds, players, models and services that they name. Nothing is started.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from trainer.policy.lora_options import lora_faults
from trainer.policy.sglang_config import SamplerConfig
from trainer.ppo.config_check import check_config, group_faults
from trainer.ppo.deepspeed_options import launched_here, launched_size, option_faults
from trainer.recipe import ModelSize, PolicyConfig, RunConfig, ServiceConfig, UsersConfig
from trainer.users.endpoint import EndpointModel
from trainer.users.spending import Meter
from trainer.worlds import catalog

_LEAST_VOCABULARY = 256 + 16
"""Every byte, and room for the special tokens of a chat format."""


def faults(config: RunConfig) -> Iterator[str]:
    """Yield what stands in the way of a recipe, each as place, value and next step."""
    unknown = sorted({*config.worlds, *config.held_out} - set(catalog.WORLDS))
    if unknown:
        known = ", ".join(sorted(catalog.WORLDS))
        yield f"unknown world {unknown[0]!r}; the recipe may name {known}"
        return
    yield from _counts(config)
    yield from _policy(config.policy, config.rollout.context_tokens)
    yield from _players(config)
    yield from _users(config.users)
    yield from _judge(config)
    yield from group_faults(config.learner, group_size=config.rollout.group_size)
    yield from _sampler(config.sampler)
    yield from backend_faults(config)
    try:
        check_config(config.learner)
    except ValueError as error:
        yield str(error)


def backend_faults(config: RunConfig) -> Iterator[str]:
    """Yield why a run's learner cannot work with the processes that were started."""
    size = launched_size()
    yield from lora_faults(
        config.policy.lora, backend=config.backend, zero_stage=config.deepspeed.zero_stage
    )
    if config.backend == "deepspeed":
        yield from option_faults(config.deepspeed)
        starts = config.sampler.kind == "sglang" and not config.sampler.urls
        if starts and size > (here := launched_here()):
            yield (
                f"sampler.urls is empty, and {size - here} of {size} ranks run on other machines; "
                "servers that the run starts are heard on rank 0's machine alone: start servers "
                "that all ranks reach and name them in sampler.urls"
            )
    elif size > 1:
        yield (
            f"backend is {config.backend!r}, one process, and the launcher started {size}; set "
            "backend to deepspeed, or start it without torchrun"
        )
    if config.rollout.overlap:
        yield from _overlap(config, size)


def _overlap(config: RunConfig, size: int) -> Iterator[str]:
    if size > 1:
        yield (
            f"rollout.overlap is true on {size} ranks, which play and learn together and in turn: "
            "set rollout.overlap to false, or start one rank"
        )
    if config.learner.tis_cap is None:
        yield (
            "rollout.overlap is true and learner.tis_cap null: batches would be learnt from an "
            "update late as if they were not; set tis_cap, such as 2.0, or rollout.overlap to false"
        )


def _sampler(config: SamplerConfig) -> Iterator[str]:
    """Say early that servers cannot be started: a small policy is warm-started before them."""
    starts = config.kind == "sglang" and not config.urls
    if starts and shutil.which(config.launch.python) is None:
        yield (
            f"sampler.launch.python: no program {config.launch.python} is there; `make sglang` "
            "makes .venv-sglang, for a machine without GPU, and docs/serving.md says more"
        )


def _counts(config: RunConfig) -> Iterator[str]:
    at_least_one = {
        "rollout.max_new_tokens": config.rollout.max_new_tokens,
        "rollout.context_tokens": config.rollout.context_tokens,
        "rollout.max_malformed": config.rollout.max_malformed,
        "checkpoint.every": config.checkpoint.every,
        "checkpoint.keep": config.checkpoint.keep,
    }
    for name, value in at_least_one.items():
        if value < 1:
            yield f"{name} is {value}; it must be at least 1"


def _policy(policy: PolicyConfig, context_tokens: int) -> Iterator[str]:
    if policy.kind == "path":
        folder = Path(policy.path or "")
        if not (folder / "config.json").is_file():
            yield f"policy.path: no model at {folder}; name a folder that holds config.json"
    if policy.kind == "checkpoint":
        folder = Path(policy.path or "")
        if not (folder / "policy").is_dir() or not (folder / "learner").is_dir():
            yield (
                f"policy.path: no checkpoint at {folder}; name a folder such as "
                "runs/ID/checkpoints/step-000010"
            )
    if policy.kind == "small":
        yield from _size(policy.size, context_tokens)


def _size(size: ModelSize, context_tokens: int) -> Iterator[str]:
    for name in ("hidden", "layers", "heads", "kv_heads", "head_dim", "ffn"):
        if getattr(size, name) < 1:
            yield f"policy.size.{name} is {getattr(size, name)}; it must be at least 1"
            return
    if size.heads % size.kv_heads:
        yield (
            f"policy.size.heads {size.heads} is not a multiple of kv_heads {size.kv_heads}; "
            "change one of them"
        )
    if size.head_dim % 2:
        yield f"policy.size.head_dim is {size.head_dim}; rotary positions need an even number"
    if size.vocab_size < _LEAST_VOCABULARY:
        yield (
            f"policy.size.vocab_size is {size.vocab_size}; it must be at least {_LEAST_VOCABULARY}"
        )
    if size.max_positions < context_tokens:
        yield (
            f"policy.size.max_positions {size.max_positions} is below rollout.context_tokens "
            f"{context_tokens}; raise it"
        )


def _players(config: RunConfig) -> Iterator[str]:
    warm = config.policy.warm_start
    if warm is None or config.policy.kind != "small":
        return
    if warm.episodes < 1 or warm.steps < 0:
        yield (
            f"policy.warm_start: episodes {warm.episodes} must be at least 1 and steps "
            f"{warm.steps} not negative"
        )
    if not warm.players or min(warm.players.values()) < 0 or sum(warm.players.values()) <= 0:
        yield "policy.warm_start.players: give each player a share, at least one above 0"
    for world in config.worlds:
        known = catalog.world(world).players
        missing = sorted(set(warm.players) - set(known))
        if missing:
            yield (
                f"policy.warm_start.players: {world} has no player {missing[0]!r}; it has "
                f"{', '.join(sorted(known))}"
            )


def _users(users: UsersConfig) -> Iterator[str]:
    if users.other == "local" and users.local_path is not None:
        folder = Path(users.local_path)
        if not (folder / "config.json").is_file():
            yield f"users.local_path: no model at {folder}; name a folder that holds config.json"
    if users.other == "llm":
        yield from endpoint_faults(users.endpoint, "users.endpoint")


def _judge(config: RunConfig) -> Iterator[str]:
    if config.judge.kind != "endpoint":
        return
    yield from endpoint_faults(config.judge.endpoint, "judge.endpoint")
    if not catalog.judged(config.worlds):
        asking = ", ".join(sorted(catalog.judged(catalog.WORLDS)))
        yield (
            f"judge.kind is endpoint and none of {', '.join(config.worlds)} asks a judge; set it "
            f"to rules, or train in a world that does: {asking}"
        )


def endpoint_faults(endpoint: ServiceConfig, place: str) -> Iterator[str]:
    """Yield what stands in the way of an endpoint; nothing is sent to it.

    Args:
        endpoint: Its settings.
        place: Where they stand in the recipe, such as `users.endpoint`.
    """
    if not endpoint.model:
        yield f"{place}.model is empty; name the model that is to be asked"
    try:
        EndpointModel(
            endpoint.base_url,
            endpoint.model,
            key_env=endpoint.key_env,
            deadline_s=endpoint.deadline_s,
            retries=endpoint.retries,
            concurrency=endpoint.concurrency,
            meter=Meter(endpoint.price, endpoint.limit),
        )
    except ValueError as error:
        yield f"{place}: {error}"
