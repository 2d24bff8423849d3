"""What a run on a device reaches of what the device can do: rollout and update beside their floors.

A model of the half-billion class with random weights, made here, trains for a few steps in the
travel world through the ordinary path of a run: worlds in their processes, sampler, learner,
records. The figures are those of its own `steps.jsonl`. The same script runs at a tiny size on a
processor, where its ratios mean little and its correctness is tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from rich.console import Console

from gate.contract import files
from gate.contract.paths import RunPaths
from trainer import launch, model_shape, recipe_file, session
from trainer.bench import floors
from trainer.bench.figures import Figure
from trainer.errors import Unusable
from trainer.loop import Ending
from trainer.model_shape import ModelShape
from trainer.recipe import RunConfig

NO_GPU = "there is no GPU here that torch can use, so nothing was measured; try --device cpu"
WARM_UP = 1
"""Steps that do not count: kernels are chosen and memory is taken in them."""


class NoDevice(Unusable):
    """The device that is to be measured is not there."""


@dataclass(frozen=True)
class Size:
    """A model and how much it plays."""

    model: str
    """Sizes of the model, as the recipe takes them."""
    dialogues: int
    new_tokens: int
    context: int
    micro_batch: int
    tasks: str


SIZES = {
    "0.5b": Size(
        model="{vocab_size: 8192, hidden: 1024, layers: 28, heads: 16, kv_heads: 8, head_dim: 128, "
        "ffn: 3072, max_positions: 2048, init_std: 0.02}",
        dialogues=64,
        new_tokens=128,
        context=1536,
        micro_batch=16_384,
        tasks="*",
    ),
    "tiny": Size(
        model="{vocab_size: 320, hidden: 32, layers: 1, heads: 2, kv_heads: 1, head_dim: 16, "
        "ffn: 64, max_positions: 512}",
        dialogues=4,
        new_tokens=12,
        context=400,
        micro_batch=2048,
        tasks="small-*",
    ),
}
"""By the name that `--size` takes: the blocks of Qwen3-0.6B, and something for a test."""


def recipe(size: Size, *, device: str, steps: int, sampler: str) -> RunConfig:
    """Return the run that is measured.

    Args:
        size: The model and how much it plays.
        device: `cuda` or `cpu`.
        steps: Steps that count.
        sampler: `local`, or `sglang` for a real server on the same device.
    """
    settings = [
        f"total_steps={WARM_UP + steps}",
        f"policy.size={size.model}",
        # Nothing is taught: random weights cost what trained ones do.
        "policy.warm_start={episodes: 30, piece_steps: 0, steps: 0}",
        f"worlds={{travel: {{tasks: '{size.tasks}'}}}}",
        f"rollout.dialogues_per_step={size.dialogues}",
        f"rollout.max_new_tokens={size.new_tokens}",
        f"rollout.context_tokens={size.context}",
        # Words without form are all that it writes; its turns must go on all the same.
        "rollout.max_malformed=8",
        f"learner.minibatch_dialogues={size.dialogues}",
        f"learner.micro_batch_tokens={size.micro_batch}",
        "learner.recompute_activations=true",
        f"sampler.kind={sampler}",
        f"hardware.gpus={int(device == 'cuda')}",
        "checkpoint={every: 1000, keep: 1, min_free_mb: 0}",
    ]
    if sampler == "sglang":
        settings += ["sampler.launch.options={mem-fraction-static: 0.3, dtype: float32}"]
    return recipe_file.load("ppo", settings)


def measure(
    name: str, *, device: str, steps: int, sampler: str, console: Console
) -> tuple[floors.Device, list[Figure]]:
    """Train on a device and return what it can do and what the run reached of that.

    Args:
        name: A key of `SIZES`.
        device: `cuda` or `cpu`.
        steps: Steps that count, at least one.
        sampler: `local` or `sglang`.
        console: Where the run tells its steps.

    Raises:
        NoDevice: if there is no such device.
        Unusable: if the run does not come to its end.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise NoDevice(NO_GPU)
    config = recipe(SIZES[name], device=device, steps=steps, sampler=sampler)
    able = floors.measure(device, torch.float32)
    with TemporaryDirectory(prefix="eau-bench-") as folder:
        planned = launch.plan(config, run_id="measured", runs=Path(folder))
        ending = session.start(planned, console)
        paths = RunPaths(Path(folder) / "measured")
        if ending is not Ending.FINISHED:
            raise Unusable(f"the measured run ended as {ending.value}; try `eau doctor`")
        told = files.read_lines(paths.steps).records[WARM_UP:]
        shape = _shape(config, paths)
    return able, figures(told, shape, able, dialogues=config.rollout.dialogues_per_step)


def figures(
    told: Sequence[Mapping[str, Any]], shape: ModelShape, able: floors.Device, *, dialogues: int
) -> list[Figure]:
    """Return tokens a second of rollout and update, and each as a multiple of its floor's time.

    Args:
        told: The step records that count.
        shape: The model.
        able: What the device can do.
        dialogues: Dialogues of a step.
    """
    total = {
        key: sum(record[key] for record in told)
        for key in ("action_tokens", "total_tokens", "rollout_s", "sample_s", "score_s", "learn_s")
    }
    written, tokens = int(total["action_tokens"]), int(total["total_tokens"])
    decode = floors.decode_s(
        able,
        weight_bytes=4 * shape.parameters,
        parameters=shape.parameters,
        written=written,
        abreast=dialogues,
        read=tokens - written,
    )
    # Actor and critic learn; each reads every token once forward and once backward.
    update = floors.update_s(able, parameters=shape.parameters + shape.critic, tokens=tokens)
    spent = total["score_s"] + total["learn_s"]
    return [
        Figure("parameters of the policy", shape.parameters / 1e6, "M"),
        Figure("device reads", able.read_bytes_s / 1e9, "GB/s"),
        Figure("device multiplies", able.flops / 1e12, "TFLOP/s"),
        Figure("rollout, written", written / total["rollout_s"], "tokens/s"),
        Figure("rollout, floor", written / decode, "tokens/s"),
        Figure("rollout against its floor", total["rollout_s"] / decode, "x"),
        Figure("sampler alone against the floor", total["sample_s"] / decode, "x"),
        Figure("update, learnt from", tokens / spent, "tokens/s"),
        Figure("update, floor", tokens / update, "tokens/s"),
        Figure("gradient steps against the floor", total["learn_s"] / update, "x"),
        Figure("update with scoring against the floor", spent / update, "x"),
    ]


def _shape(config: RunConfig, paths: RunPaths) -> ModelShape:
    """Return the shape of the model as it was made: its vocabulary is what the texts gave."""
    found = model_shape.read(paths.checkpoint(0) / "policy")
    if found is None:
        raise Unusable(f"{config.name}: the model's sizes cannot be read back")
    return found
