"""AdamW for one network: built, driven at a live rate, kept and put back by name.

The rate is set before every update and read back from the optimizer's own parameter groups, so a
reported rate is one that was used. This module knows nothing about losses.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from trainer.ppo.weights import named_parameters

_SEPARATOR = "@"


def make_optimizer(module: nn.Module, *, weight_decay: float) -> Optimizer:
    """Return AdamW over the parameters that learn; its rate is 0 until `set_rate`.

    Matrices decay, vectors (norms and biases) do not.

    Args:
        module: What it trains, in float32 or better; what is frozen may be held in less.
        weight_decay: Decoupled decay per unit of learning rate, >= 0.

    Raises:
        ValueError: if the weights are held in half precision, which would round small steps away.

    Source:
        Loshchilov and Hutter 2019.
    """
    parameters = list(named_parameters(module).values())
    for parameter in parameters:
        if parameter.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"the weights are {parameter.dtype}, in which an update of 1e-6 rounds to none; "
                "load the model in float32, or use a learner that keeps float32 master weights"
            )
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return AdamW([group for group in groups if group["params"]], lr=0.0, fused=True)


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of the next step, in every parameter group."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def rate_in_force(optimizer: Optimizer) -> float:
    """Return the learning rate the optimizer holds."""
    return float(optimizer.param_groups[0]["lr"])


def optimizer_tensors(optimizer: Optimizer, module: nn.Module) -> dict[str, Tensor]:
    """Return the optimizer's memory by `<parameter>@<part>`; empty before its first step."""
    return {
        f"{name}{_SEPARATOR}{part}": tensor
        for name, parameter in named_parameters(module).items()
        for part, tensor in optimizer.state.get(parameter, {}).items()
    }


@torch.no_grad()
def put_back_optimizer(
    optimizer: Optimizer, module: nn.Module, tensors: Mapping[str, Tensor], *, origin: str
) -> None:
    """Replace the optimizer's memory by what `optimizer_tensors` gave, whole or not at all.

    Args:
        optimizer: What forgets its present memory.
        module: The module whose parameters it trains.
        tensors: Memory by `<parameter>@<part>`; empty for an optimizer that never stepped.
        origin: Where it comes from, for the message.

    Raises:
        ValueError: if it is not the memory of this module (see `memory_by_parameter`).
    """
    parameters = named_parameters(module)
    memory = memory_by_parameter(module, tensors, origin=origin)
    optimizer.state.clear()
    for name, parts in memory.items():
        device = parameters[name].device
        optimizer.state[parameters[name]] = {
            part: tensor.detach().clone().to(device) for part, tensor in parts.items()
        }


def memory_by_parameter(
    module: nn.Module, tensors: Mapping[str, Tensor], *, origin: str
) -> dict[str, dict[str, Tensor]]:
    """Sort an optimizer's memory by the parameter it belongs to.

    Raises:
        ValueError: if a tensor belongs to no parameter of the module, or a parameter has none
            while others have.
    """
    parameters = named_parameters(module)
    memory: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        name, _, part = key.rpartition(_SEPARATOR)
        if name not in parameters:
            raise ValueError(f"{origin} remembers {key}, which is no parameter of this model")
        memory.setdefault(name, {})[part] = tensor
    forgotten = sorted(parameters.keys() - memory.keys())
    if memory and forgotten:
        raise ValueError(f"{origin} lacks the memory of {forgotten[0]}")
    return memory
