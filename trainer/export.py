"""Exports: a checkpoint's policy as a Hugging Face directory that any server or trainer loads.

A checkpoint holds whole tensors however many ranks wrote it, so one process without the learner's
package exports any run. The directory appears complete or not at all.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from gate.contract.paths import RunPaths
from trainer import assembly, checkpoint
from trainer.errors import Unusable
from trainer.policy import lora, skeleton

Dtype = Literal["float32", "bfloat16"]


class ExportError(Unusable):
    """An export that cannot be written; the message says where it could be."""


def export(
    paths: RunPaths,
    target: Path,
    *,
    step: int | None = None,
    dtype: Dtype,
    adapter_only: bool = False,
) -> Path:
    """Write the policy of a checkpoint; returns the checkpoint's folder.

    Adapters are merged into the model that they stand on.

    Args:
        paths: The run; nothing of it is written.
        target: The directory to make; one that holds anything is left alone.
        step: Which checkpoint; None for the newest whole one.
        dtype: What the weights are stored in.
        adapter_only: Write the adapters alone, as peft reads them, in float32.

    Raises:
        ExportError: if the directory is taken, or the policy has no adapters to write alone.
        checkpoint.CheckpointError: if no such checkpoint is whole.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ExportError(f"{target} holds something already; name a directory that is not there")
    directory = checkpoint.chosen(paths, step)
    policy = assembly.policy_of(directory)
    if adapter_only and policy.adapted is None:
        raise ExportError(f"{directory} has no adapter: the whole model was trained; export that")
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        if adapter_only and policy.adapted is not None:
            base = policy.adapted.path
            lora.write_adapter(policy.model, partial, base=None if base is None else str(base))
        else:
            skeleton.save(replace(policy, adapted=None), partial)
            (partial / skeleton.NAME_FILE).unlink()
            in_dtype = getattr(torch, dtype)
            model = lora.merged(policy.model, in_dtype) if policy.adapted else policy.model
            nn.Module.to(model, in_dtype)
            model.save_pretrained(partial)
        if target.exists():
            target.rmdir()
        os.replace(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return directory
