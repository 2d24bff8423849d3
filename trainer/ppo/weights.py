"""The weights of a module as plain named tensors: to keep, to put back, to tell apart.

Tied weights count once; frozen ones, such as those under an adapter, are not this module's: they
never change and lie elsewhere. Nothing here knows what the module computes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn


def named_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Return every parameter that learns and every persistent buffer, under its first name."""
    seen: set[int] = set()
    tensors: dict[str, Tensor] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        frozen = isinstance(tensor, nn.Parameter) and not tensor.requires_grad
        if id(tensor) not in seen and not frozen:
            seen.add(id(tensor))
            tensors[name] = tensor
    return tensors


def named_parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    """Return every parameter that learns once, under its first name."""
    return {name: one for name, one in module.named_parameters() if one.requires_grad}


@torch.no_grad()
def put_back(module: nn.Module, tensors: Mapping[str, Tensor], *, origin: str) -> None:
    """Copy tensors into a module, whole or not at all.

    Args:
        module: Where they go.
        tensors: Exactly the names and shapes of `named_tensors(module)`.
        origin: Where they come from, for the message.

    Raises:
        ValueError: naming the first tensor that is missing, unknown or of another shape.
    """
    check_fit(module, tensors, origin=origin)
    for name, tensor in named_tensors(module).items():
        tensor.copy_(tensors[name])


def check_fit(module: nn.Module, tensors: Mapping[str, Tensor], *, origin: str) -> None:
    """Make sure that tensors have exactly the names and shapes of a module's own.

    Args:
        module: Where they would go.
        tensors: What would go there.
        origin: Where they come from, for the message.

    Raises:
        ValueError: naming the first tensor that is missing, unknown or of another shape.
    """
    own = named_tensors(module)
    for name in sorted(own.keys() | tensors.keys()):
        if name not in tensors:
            raise ValueError(f"{origin} lacks the tensor {name}; it belongs to another model")
        if name not in own:
            raise ValueError(f"{origin} holds a tensor {name} that this model does not have")
        needed = tuple(whole_shape(own[name]))
        if needed != tuple(tensors[name].shape):
            raise ValueError(
                f"{origin}: {name} has shape {tuple(tensors[name].shape)}, this model needs "
                f"{needed}"
            )


def whole_shape(tensor: Tensor) -> torch.Size:
    """Return a tensor's shape; of one that is spread over ranks, that of the whole."""
    return getattr(tensor, "ds_shape", tensor.shape)


def clones(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return copies that later updates do not touch."""
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def fingerprint(module: nn.Module) -> str:
    """Return a sha256 over names, dtypes, shapes and bytes of the parameters that learn."""
    digest = hashlib.sha256()
    for name, parameter in sorted(named_parameters(module).items()):
        flat = parameter.detach().cpu().contiguous().reshape(-1)
        digest.update(f"{name} {parameter.dtype} {tuple(parameter.shape)}\n".encode())
        digest.update(flat.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors as one safetensors file."""
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read one safetensors file; it can hold nothing but tensors.

    Raises:
        FileNotFoundError: if it is not there.
        ValueError: if it is cut short or damaged.
    """
    if not path.is_file():
        raise FileNotFoundError(f"the checkpoint lacks its part {path.name} ({path})")
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(
            f"{path} cannot be read ({error}); it is damaged, use an earlier checkpoint"
        ) from error
