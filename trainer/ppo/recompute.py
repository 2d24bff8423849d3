"""Activation checkpointing: a layer keeps its input and computes its inside again for the gradient.

Models stay in evaluation mode, so no unit is dropped; only the layers' own switch, which
transformers reads before it recomputes, is turned for the length of a block. Memory falls from all
activations to one input a layer, at the price of one more forward pass; no number changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer


@contextmanager
def recomputing(*networks: nn.Module) -> Iterator[None]:
    """Let the layers of some networks recompute, for the length of the block.

    Outside of it they are as they were: a layer that recomputes fills no key/value cache, and the
    sampler may share the model.

    Args:
        networks: Networks that hold transformers models; none at all changes nothing.

    Raises:
        ValueError: if a model has no layer that can recompute.
    """
    layers = [layer for network in networks for layer in _layers(network)]
    for layer in layers:
        # Of the layer alone: its attention and dropout stay in evaluation mode.
        layer.training = layer.gradient_checkpointing = True
    try:
        yield
    finally:
        for layer in layers:
            layer.training = layer.gradient_checkpointing = False


def _layers(network: nn.Module) -> list[GradientCheckpointingLayer]:
    """Return the layers that can recompute, and tell each how."""
    layers = [one for one in network.modules() if isinstance(one, GradientCheckpointingLayer)]
    for layer in layers:
        # A plain attribute of the layer, as transformers itself sets it.
        vars(layer)["_gradient_checkpointing_func"] = partial(checkpoint, use_reentrant=False)
    if not layers:
        raise ValueError(
            f"{type(network).__name__} has no layer that can recompute; set "
            "learner.recompute_activations to false"
        )
    return layers
