"""What a run fixes about low-rank adapters, and what of it cannot be had; needs no tensor library.

There is no dropout: models stay in evaluation mode, so it would have no effect (see
`trainer.ppo.torch_learner`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

INSTALL = "install it with: pip install -e '.[lora]'"

ALL_LINEAR = "all-linear"
"""Every linear layer but the language-model head."""

_UNTOUCHED = ("lm_head", "embed_tokens")
"""Layers whose weights serve two ends, or are read apart from the body of the model."""


@dataclass(frozen=True)
class LoraOptions:
    """Adapters that learn while the model under them stays as it is (the recipe's `policy.lora`).

    A linear map W becomes W + alpha / rank * B A, where B starts at zero.

    Raises:
        ValueError: naming the setting that cannot be used.

    Source:
        Hu et al. 2021 (LoRA), section 4.1.
    """

    rank: int = 16
    """Rows of A and columns of B."""
    alpha: float = 32.0
    """Weight of an adapter, as a multiple of 1 / rank."""
    targets: Sequence[str] = (ALL_LINEAR,)
    """Which layers have one: `all-linear`, or the last parts of their names, such as `q_proj`."""
    base_dtype: Literal["float32", "bfloat16"] = "float32"
    """What the frozen model is held and computed in; adapters and their optimizer stay float32.
    Under `backend: deepspeed`, `deepspeed.dtype` decides instead."""

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"rank is {self.rank}; it must be at least 1")
        if not self.alpha > 0:
            raise ValueError(f"alpha is {self.alpha}; it must be above 0")
        if not self.targets:
            raise ValueError(f"targets names no layer; write [{ALL_LINEAR}], or layers by name")
        for name in _UNTOUCHED:
            if any(target.endswith(name) for target in self.targets):
                raise ValueError(
                    f"targets names {name}, which has no adapter here: tied weights serve two "
                    f"ends. Name layers inside the blocks, or write [{ALL_LINEAR}]"
                )


def lora_faults(options: LoraOptions | None, *, backend: str, zero_stage: int) -> Iterator[str]:
    """Yield why a recipe's adapters cannot be had, each as place, value and next step.

    Args:
        options: The recipe's `policy.lora`; None for a run without adapters.
        backend: The learner.
        zero_stage: Its stage, where it has one.
    """
    if options is None:
        return
    if importlib.util.find_spec("peft") is None:
        yield f"policy.lora is set, and the package peft is not installed; {INSTALL}"
    if backend != "deepspeed":
        return
    if zero_stage == 3:
        yield (
            "deepspeed.zero_stage is 3 under policy.lora: actor, critic and reference share one "
            "frozen model, which cannot be cut up by two engines; set deepspeed.zero_stage to 2"
        )
    if options.base_dtype != "float32":
        yield (
            f"policy.lora.base_dtype is {options.base_dtype!r} under backend deepspeed, whose "
            "engine chooses the type; leave it out and set deepspeed.dtype"
        )
