"""What a run fixes about DeepSpeed, and what of it cannot be had; needs neither it nor torch."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

INSTALL = "install it with: pip install 'eau[deepspeed]'"


@dataclass(frozen=True)
class DeepSpeedOptions:
    """How the `deepspeed` learner spreads a model (the recipe's `deepspeed:` block)."""

    zero_stage: Literal[0, 1, 2, 3] = 2
    """What is cut into one part a rank: 0 nothing, 1 the optimizer's memory, 2 gradients too,
    3 weights too."""
    offload_optimizer: bool = False
    """Keep the optimizer's memory and its step on the CPU; needs a stage above 0."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """What forward and backward compute in; the optimizer keeps float32 weights either way."""
    bucket_elements: int = 50_000_000
    """Gradient elements that are reduced at once."""


def launched_size(environment: Mapping[str, str] = os.environ) -> int:
    """Return how many processes the launcher started; 1 where there was none."""
    return int(environment.get("WORLD_SIZE", "1"))


def launched_here(environment: Mapping[str, str] = os.environ) -> int:
    """Return how many of them run on this machine, as `torchrun` or `deepspeed` says."""
    told = environment.get("LOCAL_WORLD_SIZE", environment.get("LOCAL_SIZE"))
    return launched_size(environment) if told is None else int(told)


def launched_rank(environment: Mapping[str, str] = os.environ) -> int:
    """Return this process's place among them, counted from 0."""
    return int(environment.get("RANK", "0"))


def option_faults(options: DeepSpeedOptions) -> Iterator[str]:
    """Yield what stands in the way of the learner, each as place, value and next step."""
    if importlib.util.find_spec("deepspeed") is None:
        yield f"backend is 'deepspeed', and the package is not installed; {INSTALL}"
    if options.zero_stage not in (0, 1, 2, 3):
        yield f"deepspeed.zero_stage is {options.zero_stage}; it must be 0, 1, 2 or 3"
    if options.zero_stage == 0:
        for name, wanted in (
            ("offload_optimizer", options.offload_optimizer),
            ("dtype", options.dtype != "float32"),
        ):
            if wanted:
                yield (
                    f"deepspeed.{name} is {getattr(options, name)!r}, which needs the sharded "
                    "optimizer; set deepspeed.zero_stage to 1, 2 or 3"
                )
    if options.bucket_elements < 1:
        yield f"deepspeed.bucket_elements is {options.bucket_elements}; it must be at least 1"
