"""Skeletons: all of a policy but the weights that learn, which the learner saves.

A checkpoint holds the weights once. This module knows nothing about learners or checkpoints.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    PreTrainedModel,
)

from trainer.policy import build, frozen
from trainer.policy.build import Policy
from trainer.policy.frozen import Adapted

NAME_FILE = "name.txt"


def save(policy: Policy, directory: Path) -> None:
    """Write configuration and tokenizer into an empty folder."""
    eos = sorted(policy.chat.stop_ids)
    pad = policy.tokenizer.pad_token_id
    policy.model.config.save_pretrained(directory)
    GenerationConfig(eos_token_id=eos, pad_token_id=pad).save_pretrained(directory)
    policy.tokenizer.save_pretrained(directory)
    (directory / NAME_FILE).write_text(policy.name, encoding="utf-8")
    if policy.adapted is not None:
        frozen.save(policy.adapted, policy.model, directory)


def load(directory: Path) -> Policy:
    """Return the policy of a folder that `save` wrote, with weights that mean nothing yet.

    Raises:
        FileNotFoundError: if a part of the folder is missing, or the model under its adapters.
        ValueError: if another model lies in the place of that one.
    """
    name = (directory / NAME_FILE).read_text(encoding="utf-8")
    model, adapted = _model(directory)
    model.generation_config = GenerationConfig.from_pretrained(directory, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(
        directory, local_files_only=True, trust_remote_code=False
    )
    return replace(build.assemble(model.eval(), tokenizer, name=name), adapted=adapted)


def _model(directory: Path) -> tuple[PreTrainedModel, Adapted | None]:
    if (directory / frozen.FILE).is_file():
        return frozen.load(directory)
    config = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    with torch.random.fork_rng(devices=[]):
        return AutoModelForCausalLM.from_config(config, dtype=torch.float32), None
