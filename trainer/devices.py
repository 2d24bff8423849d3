"""Where one process computes, by what its recipe counts on and what there is.

The ranks of a DeepSpeed job find their GPUs themselves (`trainer.ppo.deepspeed_ranks`). This module
knows nothing about models.
"""

from __future__ import annotations

import torch

from trainer.errors import Unusable
from trainer.recipe import RunConfig


def device_of(config: RunConfig) -> str:
    """Return where one process computes: on the GPU that the recipe counts on, if one is there."""
    return "cuda" if config.hardware.gpus and torch.cuda.is_available() else "cpu"


def require_device(config: RunConfig) -> None:
    """Make sure that a run in one process has the GPU that its recipe counts on.

    Raises:
        Unusable: if there is none that torch can use.
    """
    if config.backend == "torch" and config.hardware.gpus and device_of(config) == "cpu":
        raise Unusable(
            f"hardware.gpus is {config.hardware.gpus}, and torch can use no GPU here; install its "
            "CUDA build, or set hardware.gpus to 0 to train on the processors"
        )
