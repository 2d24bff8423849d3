"""Where the frozen model under a policy's adapters lies, and proof that it is still the same one.

A model that lies in a directory is named by its path and by a digest of its files; one that was
made in the run has no such place, so its weights are written beside the policy's configuration.
This module knows nothing about learners or checkpoints.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from trainer.policy import lora
from trainer.policy.lora_options import LoraOptions

FILE = "adapted.json"
WEIGHTS = "base.safetensors"
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class Adapted:
    """What a policy's adapters stand on."""

    options: LoraOptions
    path: Path | None = None
    """Directory of the frozen model; None for one that was made in the run."""
    digest: str = ""
    """sha256 over the files of that directory that decide what the model computes."""


def digest_of(directory: Path) -> str:
    """Return a sha256 over configuration and weights of a Hugging Face directory."""
    digest = hashlib.sha256()
    for path in sorted((directory / "config.json", *directory.glob("*.safetensors"))):
        digest.update(f"{path.name}\n".encode())
        with path.open("rb") as file:
            while block := file.read(_READ_BYTES):
                digest.update(block)
    return digest.hexdigest()


def save(adapted: Adapted, model: PreTrainedModel, directory: Path) -> None:
    """Write what `load` needs to find the frozen model again.

    Args:
        adapted: What the policy stands on.
        model: The model with its adapters.
        directory: The folder that already holds the policy's configuration.
    """
    told = {
        "format": 1,
        "lora": lora.options_to_json(adapted.options),
        "base": None if adapted.path is None else str(adapted.path),
        "digest": adapted.digest,
    }
    (directory / FILE).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    if adapted.path is None:
        bare = lora.without_adapters(model)
        tensors = {name: one.detach().cpu().contiguous() for name, one in bare.named_parameters()}
        save_file(tensors, directory / WEIGHTS)


def load(directory: Path) -> tuple[PreTrainedModel, Adapted]:
    """Return the frozen model of a folder that `save` wrote, with adapters that add nothing yet.

    Raises:
        FileNotFoundError: if the frozen model is not where it was.
        ValueError: if it is not the one that the adapters were trained on.
    """
    told = json.loads((directory / FILE).read_text(encoding="utf-8"))
    options = LoraOptions(**{**told["lora"], "targets": tuple(told["lora"]["targets"])})
    path = None if told["base"] is None else Path(told["base"])
    adapted = Adapted(options, path, told["digest"])
    dtype = getattr(torch, options.base_dtype)
    model = _made_in_the_run(directory, dtype) if path is None else _lying_at(adapted, dtype)
    lora.attach(model, options, seed=0)
    return model, adapted


def _made_in_the_run(directory: Path, dtype: torch.dtype) -> PreTrainedModel:
    config = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    with torch.random.fork_rng(devices=[]):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    weights = load_file(directory / WEIGHTS)
    own = dict(model.named_parameters())
    if own.keys() != weights.keys():
        raise ValueError(f"{directory / WEIGHTS} does not hold this model's weights")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(weights[name])
    return model


def _lying_at(adapted: Adapted, dtype: torch.dtype) -> PreTrainedModel:
    path = adapted.path
    if path is None or not (path / "config.json").is_file():
        raise FileNotFoundError(
            f"the adapters were trained on the model at {path}, where none is; put it back there, "
            "or a link to it"
        )
    found = digest_of(path)
    if found != adapted.digest:
        raise ValueError(
            f"the model at {path} is not the one that the adapters were trained on: its files have "
            f"digest {found[:12]}, theirs was {adapted.digest[:12]}; put that one back there"
        )
    return AutoModelForCausalLM.from_pretrained(
        path, dtype=dtype, use_safetensors=True, local_files_only=True, trust_remote_code=False
    )
