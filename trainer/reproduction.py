"""Reproducing the papers: where every value of their recipes comes from.

A value is the paper's, that of public code whose known values equal the paper's one for one, or
ours. `docs/reproducing.md` is made from here, and a setting of a recipe that has no origin fails a
test. This module knows nothing about how the values are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from trainer import recipe_file

RECIPES = (
    "usergym-qwen3-4b",
    "colbench-qwen3-4b",
    "tau2-qwen3-4b",
    "usergym-qwen2.5-7b",
    "colbench-qwen2.5-7b",
    "tau2-qwen2.5-7b",
)


class Origin(StrEnum):
    """Who says so."""

    PAPER = "paper"
    INFOPO = "InfoPO's scripts"
    USERRL = "UserRL's code"
    OURS = "ours"


class Source(NamedTuple):
    """Where a setting's value comes from."""

    origin: Origin
    why: str = ""
    """What led to it, where somebody may ask."""


_P, _I, _U, _O = Origin.PAPER, Origin.INFOPO, Origin.USERRL, Origin.OURS

SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "total_steps": Source(
            _O, "InfoPO's 5 and 10 epochs over the training tasks; ColBench: 100"
        ),
        "policy.kind": Source(_O, "a folder on this machine; nothing is downloaded"),
        "policy.path": Source(_P, "which model; where it lies is yours to say"),
        "policy.warm_start": Source(_O, "for small models alone"),
        "worlds": Source(
            _U, "which gyms train, weighted by its 2,426 prompts; tau2: by our splits"
        ),
        "held_out": Source(_P, "Intention and Telepathy are not trained on"),
        "users.other": Source(_P),
        "users.endpoint.base_url": Source(_O, "where CoSER is served is yours to say"),
        "users.endpoint.model": Source(_P, "CoSER plays the user in training"),
        "users.endpoint.style": Source(_O, "a role-play model knows no form"),
        "users.endpoint.concurrency": Source(_O),
        "users.evaluation.base_url": Source(_O),
        "users.evaluation.model": Source(_P, "GPT-4o-mini plays it in evaluation"),
        "users.evaluation.key_env": Source(_O),
        "judge.evaluation.base_url": Source(_O),
        "judge.evaluation.model": Source(_P, "one model plays the user and judges"),
        "judge.evaluation.key_env": Source(_O),
        "rollout.dialogues_per_step": Source(_P),
        "rollout.group_size": Source(_O, "with a critic no group is needed; InfoPO: 5 for GRPO"),
        "rollout.max_new_tokens": Source(_P),
        "rollout.context_tokens": Source(_I, "its longest prompt and response together"),
        "backend": Source(_O),
        "deepspeed.zero_stage": Source(
            _O, "for dense models of this size; the memory plan shows what 3 would save"
        ),
        "deepspeed.offload_optimizer": Source(_O, "the memory plan asks for it"),
        "deepspeed.dtype": Source(_O),
        "sampler.kind": Source(_P, "SGLang; local for the 7B, whose ranks sample by themselves"),
        "sampler.launch.replicas": Source(_O),
        "sampler.launch.python": Source(_O),
        "sampler.launch.options.mem-fraction-static": Source(_O),
        "sampler.launch.options.dtype": Source(_O),
        "sampler.launch.environment.CUDA_VISIBLE_DEVICES": Source(_O),
        "hardware.gpus": Source(_P),
        "hardware.gpu_memory_gib": Source(_O),
        "hardware.ranks": Source(_O, "7B: what a learner holds is split over all four"),
        "learner.credit": Source(_P, "PPO with a critic, GAE over action tokens"),
        "learner.temperature": Source(_I, "ColBench .6; elsewhere 1, which PPO's ratio asks for"),
        "learner.minibatch_dialogues": Source(_I),
        "learner.micro_batch_tokens": Source(_O, "one longest dialogue; it changes no result"),
        "learner.recompute_activations": Source(_O, "it changes no result"),
        "learner.critic_warmup_steps": Source(
            _O, "a zero head needs some steps before it is of use"
        ),
        "checkpoint.every": Source(_O),
        "checkpoint.keep": Source(_O),
        "checkpoint.min_free_mb": Source(_O),
        "knobs.user.user_strategy_mix": Source(_P, "epsilon"),
        "knobs.environment.max_steps": Source(_P, "agent turns of a dialogue"),
        "knobs.agent.actor_lr": Source(_P),
        "knobs.agent.critic_lr": Source(_O, "ten times the actor's"),
        "knobs.agent.entropy_coeff": Source(_I),
        "knobs.agent.kl_coeff": Source(_I, "its loss has no KL term"),
        "knobs.agent.clip_low": Source(_I),
        "knobs.agent.clip_high": Source(_I),
    }
)
"""The origin of every setting that a paper's recipe states, by its path."""

_WHOLE = ("worlds", "held_out")
"""Maps whose entries share an origin."""


def stated() -> dict[str, dict[str, Any]]:
    """Return every setting that the papers' recipes state: by path, its value in each recipe."""
    values = {name: recipe_file.to_values(recipe_file.load(name)) for name in RECIPES}
    # A dict keeps the order in which the recipes state them.
    paths = dict.fromkeys(path for name in RECIPES for path in _paths(name))
    return {path: {name: _at(values[name], path) for name in RECIPES} for path in paths}


def markdown() -> str:
    """Return the table of a page: setting, values, origin."""
    short = {
        name: name.replace("-qwen3-4b", " 4B").replace("-qwen2.5-7b", " 7B") for name in RECIPES
    }
    rows = [
        f"| setting | {' | '.join(short.values())} | from | |",
        f"|---|{'---|' * len(RECIPES)}---|---|",
    ]
    for path, by_recipe in stated().items():
        source = SOURCES[path]
        shown = [_shown(by_recipe[name]) for name in RECIPES]
        cells = [shown[0], *("=" if cell == shown[0] else cell for cell in shown[1:])]
        rows.append(f"| `{path}` | {' | '.join(cells)} | {source.origin.value} | {source.why} |")
    return "\n".join(rows)


def _paths(name: str) -> list[str]:
    """Return the paths that a recipe states itself, or that what it extends states."""
    text = (recipe_file.BUILT_IN / f"{name}.yaml").read_text("utf-8")
    values = YAML(typ="safe", pure=True).load(text)
    base = values.pop("extends", None)
    values.pop("name", None)
    return [*(_paths(base) if base else []), *_leaves(values)]


def _leaves(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    found: list[str] = []
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and path not in _WHOLE:
            found += _leaves(value, f"{path}.")
        else:
            found.append(path)
    return found


def _at(values: Mapping[str, Any], path: str) -> Any:
    found: Any = values
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry['weight']:g}" for name, entry in value.items()) or "none"
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)
