"""The state of an engine as whole tensors by name, whatever the stage and the number of ranks.

What one process would save is gathered tensor by tensor on rank 0, and dealt out again the same
way: so a checkpoint holds no trace of how the run was spread, needs no pickle, and is read by
either learner on any number of ranks. Every function here is called by all ranks together.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from trainer.ppo.deepspeed_engine import MOMENTS, Engine
from trainer.ppo.deepspeed_ranks import Ranks, package
from trainer.ppo.weights import named_parameters, named_tensors, whole_shape


class Snapshot:
    """This rank's part of an engine at one moment, in main memory."""

    def __init__(self, engine: Engine) -> None:
        """Copy weights, their float32 masters and the optimizer's memory."""
        self._engine = engine
        self._copies = [_copy(tensor) for tensor in _own_tensors(engine)]
        self._held = {
            name: _copy(parameter)
            for name, parameter in named_parameters(engine.network).items()
            if _is_whole(parameter)
        }

    @torch.no_grad()
    def put_back(self) -> None:
        """Make the engine what it was."""
        for tensor, copy in zip(_own_tensors(self._engine), self._copies, strict=True):
            tensor.data.copy_(copy)
        for name, parameter in named_parameters(self._engine.network).items():
            if not _is_whole(parameter):
                continue
            if name in self._held:
                parameter.data.copy_(self._held[name])
            else:
                # Gathered since, by the pass that failed: what was gathered goes.
                parameter.partition()  # pyright: ignore[reportAttributeAccessIssue, reportCallIssue]


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", copy=True)


def _is_whole(parameter: nn.Parameter) -> bool:
    """Tell whether this rank holds all of a parameter, as of the small ones even under stage 3."""
    return parameter.shape == whole_shape(parameter)


def _own_tensors(engine: Engine) -> list[Tensor]:
    """List this rank's parts of what a step changes, whole parameters left out."""
    own: list[Tensor] = []
    if engine.stage == 3:
        own += [parameter.ds_tensor for parameter in engine.network.parameters()]  # pyright: ignore
    if engine.stage > 0:
        own += engine.masters()
    for entry in engine.memory():
        own += [entry["step"], *(entry[moment] for moment in MOMENTS)]
    return own


@torch.no_grad()
def whole_weights(engine: Engine, ranks: Ranks) -> dict[str, Tensor]:
    """Return the float32 weights by name on rank 0, in main memory; nothing on other ranks."""
    parameters = named_parameters(engine.network)
    found: dict[str, Tensor] = {}
    for name, tensor in named_tensors(engine.network).items():
        whole = tensor
        if engine.stage > 0 and name in parameters:
            whole = _fragments().safe_get_full_fp32_param(parameters[name])
        if ranks.leads:
            found[name] = whole.detach().to("cpu", copy=True)
    return found


@torch.no_grad()
def whole_memory(engine: Engine, ranks: Ranks) -> dict[str, Tensor]:
    """Return the optimizer's memory by `<parameter>@<part>` on rank 0; nothing on other ranks."""
    steps = engine.memory()[0]["step"]
    found: dict[str, Tensor] = {}
    for name, parameter in named_parameters(engine.network).items():
        parts = {"step": steps}
        for moment in MOMENTS:
            if engine.stage == 0:
                parts[moment] = engine.engine.basic_optimizer.state[parameter][moment]
            else:
                parts[moment] = _fragments().safe_get_full_optimizer_state(parameter, moment)
        if ranks.leads:
            found |= {f"{name}@{part}": t.to("cpu", copy=True) for part, t in parts.items()}
    return found


@torch.no_grad()
def put_back_weights(engine: Engine, tensors: Mapping[str, Tensor], ranks: Ranks) -> None:
    """Give every rank its part of the weights that rank 0 holds.

    Args:
        engine: What forgets its weights.
        tensors: The tensors of `whole_weights`, checked; read on rank 0 alone.
        ranks: Who takes part.
    """
    parameters = named_parameters(engine.network)
    for name, tensor in named_tensors(engine.network).items():
        shape = whole_shape(tensor)
        dtype = torch.float32 if name in parameters else tensor.dtype
        value = _spread(tensors.get(name), shape, dtype, ranks)
        with gathered([tensor], engine, modifier=0):
            tensor.data.copy_(value)
        if engine.stage > 0 and name in parameters:
            _set_part(parameters[name], value, None, engine, ranks)


@torch.no_grad()
def put_back_memory(engine: Engine, tensors: Mapping[str, Tensor], ranks: Ranks) -> None:
    """Give every rank its part of the optimizer's memory that rank 0 holds.

    Args:
        engine: What forgets its memory.
        tensors: Memory by `<parameter>@<part>`, read on rank 0 alone; empty for an optimizer
            that never stepped.
        ranks: Who takes part.
    """
    steps = [tensor for name, tensor in tensors.items() if name.endswith("@step")]
    count = _spread(steps[0] if steps else None, (), torch.float32, ranks)
    for entry in engine.memory():
        entry["step"].copy_(count)
    for name, parameter in named_parameters(engine.network).items():
        shape = whole_shape(parameter)
        for moment in MOMENTS:
            value = _spread(tensors.get(f"{name}@{moment}"), shape, torch.float32, ranks)
            if engine.stage == 0:
                engine.engine.basic_optimizer.state[parameter][moment].copy_(value)
            else:
                _set_part(parameter, value, moment, engine, ranks)


@torch.no_grad()
def copy_to(model: nn.Module, engine: Engine) -> None:
    """Copy the weights as the engine computes with them into a model of the same shape."""
    theirs = named_tensors(model)
    for name, tensor in named_tensors(engine.network).items():
        with gathered([tensor], engine):
            theirs[name].copy_(tensor)


def gathered(
    tensors: list[Tensor], engine: Engine, modifier: int | None = None
) -> AbstractContextManager[Any]:
    """Give whole tensors for the length of a block, and cut them up again after it.

    Args:
        tensors: Parameters or buffers of the engine's network.
        engine: Only under stage 3 are they in parts at all.
        modifier: The rank whose changes are taken; None for reading.
    """
    sharded = [one for one in tensors if engine.stage == 3 and hasattr(one, "ds_id")]
    return package().zero.GatheredParameters(sharded, modifier_rank=modifier, enabled=bool(sharded))


def _set_part(
    parameter: nn.Parameter, value: Tensor, moment: str | None, engine: Engine, ranks: Ranks
) -> None:
    """Set this rank's part of a float32 master, or of what the optimizer remembers of it."""
    fragments = _fragments()
    if engine.stage < 3:
        if moment is None:
            fragments.safe_set_full_fp32_param(parameter, value)
        else:
            fragments.safe_set_full_optimizer_state(parameter, value, moment)
        return
    # Parts are equally long; what the last one lacks is padding.
    length = parameter.ds_tensor.numel()  # pyright: ignore[reportAttributeAccessIssue]
    padded = nn.functional.pad(value.flatten(), (0, length * ranks.size - value.numel()))
    mine = padded[length * ranks.rank : length * (ranks.rank + 1)]
    if moment is None:
        fragments.safe_set_local_fp32_param(parameter, mine)
    else:
        fragments.safe_set_local_optimizer_state(parameter, mine, moment)


def _spread(
    tensor: Tensor | None, shape: tuple[int, ...], dtype: torch.dtype, ranks: Ranks
) -> Tensor:
    """Return rank 0's tensor on every rank; zeros where rank 0 has none."""
    value = torch.zeros(tuple(shape), dtype=dtype, device=ranks.device)
    if ranks.leads and tensor is not None:
        value.copy_(tensor)
    return ranks.from_first(value)


def _fragments() -> Any:
    return importlib.import_module("deepspeed.utils")
