"""Low-rank adapters on a frozen model, by peft: put on, read apart, merged, taken off.

The model stays the object and the class that it was; only its linear layers are wrapped. Twins of
it share every frozen weight, so that critic and reference cost no second copy. peft answers
`layer.weight` with the weight under the adapter: whoever reads weights by hand asks here.

Dimensions: O outputs, I inputs of a linear map, R rank.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from trainer.policy.lora_options import ALL_LINEAR, INSTALL, LoraOptions
from trainer.policy.narrowing import hold_in

ADAPTER = "default"
"""peft's name of the one adapter that a model has here."""
_UNDER = "base_layer."
"""What peft puts into the names of weights under an adapter."""

Model = TypeVar("Model", bound=nn.Module)


class LowRank(NamedTuple):
    """What an adapter adds to a linear map: `up @ down`."""

    down_RI: Tensor
    up_OR: Tensor
    """Times alpha / rank."""


def attach(model: PreTrainedModel, options: LoraOptions, *, seed: int) -> None:
    """Freeze a model and put adapters on it, in place; it computes the same as before, bit for bit.

    Args:
        model: A plain model.
        options: Rank, weight and place of the adapters.
        seed: Decides where their first halves start; the second halves are zero.

    Raises:
        ModuleNotFoundError: if peft is not installed; it says how to get it.
        ValueError: if the model has no layer of that name, or keeps its maps in another form.
    """
    for name, layer in model.named_modules():
        if type(layer).__name__ == "Conv1D":
            raise ValueError(
                f"{name} of {type(model).__name__} is a Conv1D, whose adapters are not merged "
                "here; take a model with linear layers, or train without policy.lora"
            )
    peft = _package()
    targets: Any = ALL_LINEAR if ALL_LINEAR in options.targets else list(options.targets)
    config = peft.LoraConfig(
        r=options.rank, lora_alpha=options.alpha, target_modules=targets, task_type="CAUSAL_LM"
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        peft.inject_adapter_in_model(config, model, adapter_name=ADAPTER)
    for name, parameter in model.named_parameters():
        adapts = "lora_" in name
        parameter.requires_grad_(adapts)
        if adapts:
            wide = torch.promote_types(parameter.dtype, torch.float32)
            parameter.data = parameter.data.to(wide)
    model.eval()


def adapted(model: nn.Module) -> bool:
    """Return whether a model has adapters."""
    return any(is_adapter(layer) for layer in model.modules())


def is_adapter(layer: nn.Module) -> bool:
    """Return whether a layer is a linear map under an adapter."""
    return hasattr(layer, "lora_A") and hasattr(layer, "base_layer")


def low_rank(layer: nn.Module) -> LowRank | None:
    """Return what an adapter adds to a layer; None for a layer without one."""
    if not is_adapter(layer):
        return None
    wrapped = cast("Any", layer)
    up_OR = wrapped.lora_B[ADAPTER].weight
    return LowRank(wrapped.lora_A[ADAPTER].weight, up_OR * wrapped.scaling[ADAPTER])


def twin(model: Model) -> Model:
    """Return a copy that shares every frozen parameter and has its own of those that learn.

    Of a model that learns as a whole it is a plain copy.
    """
    frozen = {id(one): one for one in model.parameters() if not one.requires_grad}
    return copy.deepcopy(model, cast("dict[int, Any]", frozen))


def without_adapters(model: Model) -> Model:
    """Return the frozen model under the adapters, sharing its weights: no second copy of them."""
    everything = {id(one): one for one in model.parameters()}
    bare = copy.deepcopy(model, cast("dict[int, Any]", everything))
    for name, layer in list(bare.named_modules()):
        if is_adapter(layer):
            bare.set_submodule(name, cast("Any", layer).base_layer)
    return bare


@torch.no_grad()
def plain_weights(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield the parameters that a plain model would have to compute the same, by its names.

    Adapters are merged in float32, one layer at a time, and rounded to the type of the weight
    under them. Tied weights come once.
    """
    layers = {name: low_rank(layer) for name, layer in model.named_modules() if is_adapter(layer)}
    for name, parameter in model.named_parameters():
        owner, _, kind = name.partition(f".{_UNDER}")
        if owner not in layers or not kind:
            if "lora_" not in name:
                yield name, parameter.detach()
            continue
        added = layers[owner] if kind == "weight" else None
        value = parameter.detach()
        if added is not None:
            value = _sum(value, added).to(value.dtype)
        yield f"{owner}.{kind}", value


@torch.no_grad()
def merged(model: Model, dtype: torch.dtype | None = None) -> Model:
    """Return a plain model that computes what the adapted one does; it shares nothing with it.

    Args:
        model: A model, with or without adapters.
        dtype: Type of the result; the model's own unless given.
    """
    whole = copy.deepcopy(without_adapters(model))
    if dtype is not None:
        hold_in(whole, dtype)
    for name, layer in model.named_modules():
        added = low_rank(layer)
        if added is not None:
            target = cast("Any", whole.get_submodule(name)).weight
            target.copy_(_sum(cast("Any", layer).base_layer.weight, added))
    return whole.requires_grad_(True)


def _sum(weight_OI: Tensor, added: LowRank) -> Tensor:
    """Return a weight with an adapter merged in, in the wider type of the two."""
    product_OI = added.up_OR @ added.down_RI
    wide = torch.promote_types(weight_OI.dtype, product_OI.dtype)
    return weight_OI.to(wide) + product_OI.to(wide)


def plain(model: Model) -> Model:
    """Return the model itself where it has no adapters, else one with these merged in."""
    return merged(model) if adapted(model) else model


def write_adapter(model: PreTrainedModel, directory: Path, *, base: str | None) -> None:
    """Write the adapters alone as peft, vLLM or SGLang load them, into an empty folder.

    Args:
        model: A model with adapters.
        directory: Where `adapter_config.json` and `adapter_model.safetensors` go.
        base: What the configuration calls the model under them.
    """
    from safetensors.torch import save_file

    config = copy.copy(cast("Any", model).peft_config[ADAPTER])
    named = {name: layer for name, layer in model.named_modules() if is_adapter(layer)}
    # The whole names of the layers, whatever words chose them: nothing is left to a reader.
    config.target_modules = sorted(named)
    config.base_model_name_or_path, config.inference_mode = base, True
    config.save_pretrained(directory)
    tensors = {
        f"base_model.model.{name}.{half}.weight": getattr(layer, half)[ADAPTER].weight.detach()
        for name, layer in named.items()
        for half in ("lora_A", "lora_B")
    }
    save_file(
        {name: tensor.cpu().contiguous() for name, tensor in tensors.items()},
        directory / "adapter_model.safetensors",
        metadata={"format": "pt"},
    )


def options_to_json(options: LoraOptions) -> dict[str, Any]:
    """Return options as JSON values; `LoraOptions(**values)` is the inverse."""
    return {**asdict(options), "targets": list(options.targets)}


def _package() -> Any:
    """Return peft.

    Raises:
        ModuleNotFoundError: saying how to install it.
    """
    try:
        import peft  # an optional backend
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"adapters need {error.name}; {INSTALL}") from error
    return peft
