"""The memory plan: what a run will hold on each GPU and on the host, before anything is loaded.

Pure arithmetic on a model's shape. Weights, gradients and optimizer are what real engines were
found to hold (`tests/scale/test_memory.py`); activations are an estimate from the tensors that a
block keeps, and what a framework or an allocator adds on top is a stated reserve. This module
knows nothing about recipes or about the machine at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trainer.model_shape import ModelShape

GIB = 2**30


@dataclass(frozen=True)
class Bytes:
    """Bytes that each number of a trained model takes."""

    weights: int = 2
    """In which forward and backward pass compute."""
    gradients: int = 2
    """In which they add up over the passes of a minibatch."""
    optimizer: int = 12
    """Adam's two averages, and the weights in float32 where the others are narrower."""
    undo: int = 0
    """Copies that undo an update which is not finite."""
    passing: int = 0
    """Gradients of one pass, where they are held beside the sum."""
    stepping: int = 0
    """A second copy of the own part of the gradients, which the optimizer steps with."""
    host: int = 0
    """Of the own part, on the host beside an optimizer that lives there: its gradients, and the
    weights on their way back."""


MIXED = Bytes()
"""bfloat16 with float32 masters, as DeepSpeed trains: 16 bytes a parameter."""
SINGLE = Bytes(weights=4, gradients=4, optimizer=8, undo=12)
"""float32 throughout, as the learner in one process trains, with its copy for the way back."""


@dataclass(frozen=True)
class Sharding:
    """How trained states are spread over ranks."""

    ranks: int = 1
    stage: int = 0
    """ZeRO: 1 splits the optimizer, 2 gradients too, 3 weights too."""
    offload_optimizer: bool = False
    """The optimizer's part of every rank lives on the host."""


class Part(NamedTuple):
    """One thing that takes memory."""

    name: str
    gpu: int
    """Bytes on each GPU."""
    host: int = 0
    """Bytes on the host, all ranks together."""
    how: str = ""
    """How it was counted, in a few words."""


class Plan(NamedTuple):
    """Everything that takes memory, for one GPU and for the host."""

    parts: tuple[Part, ...]

    @property
    def gpu(self) -> int:
        """Bytes on each GPU."""
        return sum(part.gpu for part in self.parts)

    @property
    def host(self) -> int:
        """Bytes on the host."""
        return sum(part.host for part in self.parts)


def trained(name: str, parameters: int, each: Bytes, sharding: Sharding) -> Part:
    """Return what a trained model takes: weights, gradients, optimizer, the way back.

    Args:
        name: What it is, such as `actor`.
        parameters: Numbers of the model.
        each: Bytes of each number.
        sharding: How they are spread.

    Source:
        Rajbhandari et al. 2020 (ZeRO), figure 1: 2 + 2 + 12 bytes a parameter, divided by the
        ranks from the optimizer inwards.
    """
    ranks, stage = sharding.ranks, sharding.stage
    weights = each.weights / (ranks if stage >= 3 else 1)
    summing = (each.gradients + each.passing) / (ranks if stage >= 2 else 1)
    stepping = (each.gradients + each.stepping) / (ranks if stage >= 1 else 1)
    gradients = max(summing, stepping)
    optimizer = each.optimizer / (ranks if stage >= 1 else 1)
    # What is undone is split as what it undoes.
    undo = each.undo / (ranks if stage >= 3 else 1)
    gpu, host = weights + gradients + optimizer + undo, 0.0
    if sharding.offload_optimizer:
        gpu, host = gpu - optimizer, optimizer * ranks + each.host
    told = f"{weights:g}+{gradients:g}+{optimizer:g}{f'+{undo:g}' if undo else ''} B/parameter"
    where = ", optimizer on the host" if sharding.offload_optimizer else ""
    how = f"{_billions(parameters)} at {told}{where}"
    return Part(name, round(gpu * parameters), round(host * parameters), how)


def frozen(name: str, parameters: int, width: int, *, ranks: int = 1) -> Part:
    """Return what a model takes that is only read.

    Args:
        name: What it is, such as `reference`.
        parameters: Numbers of the model.
        width: Bytes of each.
        ranks: GPUs that share one copy.
    """
    shared = f", a part on each of {ranks}" if ranks > 1 else ""
    told = f"{_billions(parameters)} at {width} B/parameter{shared}"
    return Part(name, -(-parameters * width // ranks), how=told)


def activations(
    shape: ModelShape, tokens: int, *, width: int, recompute: bool, logits: int
) -> Part:
    """Return what one forward and backward pass keeps.

    Args:
        shape: The model.
        tokens: Tokens of the pass.
        width: Bytes of a number.
        recompute: Whether blocks are computed again in the backward pass, and only what enters
            them is kept.
        logits: Logits held at once; three tensors of that size, in float32.
    """
    kept = shape.hidden if recompute else shape.block_activations
    inside = shape.block_activations if recompute else 0
    numbers = tokens * (shape.layers * kept + inside)
    told = "block inputs and one block" if recompute else "all blocks"
    held = min(logits, tokens * shape.vocab)
    return Part(
        "activations",
        numbers * width + 3 * 4 * held,
        how=f"estimate: {told} of {tokens} tokens, {held / 1e6:.0f} M logits",
    )


def adapter_inputs(shape: ModelShape, tokens: int, targets: Sequence[str], *, again: bool) -> Part:
    """Return what adapters keep of their inputs, in float32 beside a base in half precision.

    Args:
        shape: The model.
        tokens: Tokens of a pass.
        targets: Maps with an adapter, as `ModelShape.maps` names them.
        again: Whether blocks are computed again in the backward pass, one at a time.
    """
    inputs = sum(shape.maps[name][0] for name in targets)
    layers = 1 if again else shape.layers
    told = f"estimate: what goes into {len(targets)} maps of a block"
    return Part("adapters' inputs", 4 * tokens * layers * inputs, how=told)


def key_values(shape: ModelShape, tokens: int, *, width: int) -> Part:
    """Return what the key/value cache of so many tokens takes."""
    each = shape.kept_per_token * width
    return Part("key/value cache", tokens * each, how=f"{tokens} tokens at {each} bytes")


def served(gpu_bytes: int, share: float, shape: ModelShape, *, width: int) -> tuple[Part, int]:
    """Return what a serving engine takes of a GPU, and the tokens that its cache then holds.

    Args:
        gpu_bytes: Memory of the GPU.
        share: The engine's share for weights and cache (SGLang's `mem-fraction-static`).
        shape: The model that is served.
        width: Bytes of a number.
    """
    taken = round(gpu_bytes * share)
    room = max(taken - shape.parameters * width, 0)
    tokens = room // (shape.kept_per_token * width)
    how = f"{share:g} of the GPU: weights, and a cache of {tokens} tokens"
    return Part("serving engine", taken, how=how), tokens


def lines(plan: Plan, *, gpu_bytes: int | None) -> Sequence[str]:
    """Return the plan as lines for a terminal.

    Args:
        plan: The plan.
        gpu_bytes: Memory of a GPU; None where nothing runs on one.
    """
    place = "a learning GPU" if gpu_bytes else "this process"
    rows = [f"{part.name:18} {gib(part.gpu):>11}  {part.how}" for part in plan.parts]
    total = f"{f'on {place}':18} {gib(plan.gpu):>11}"
    if gpu_bytes:
        total += f"  of {gib(gpu_bytes)}"
    rows.append(total)
    if plan.host:
        rows.append(f"{'on the host':18} {gib(plan.host):>11}")
    return rows


def gib(size: float) -> str:
    """Return a number of bytes in GiB, or in MiB where it is small."""
    return f"{size / GIB:.1f} GiB" if size >= GIB / 2 else f"{size / 2**20:.0f} MiB"


def _billions(parameters: int) -> str:
    return f"{parameters / 1e9:.2f} B" if parameters >= 1e8 else f"{parameters / 1e6:.2f} M"
