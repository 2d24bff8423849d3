"""What a device can do at best, measured: bytes read a second, multiplications a second.

Floors of a run follow from these two and from the size of its model, so a ratio to them says how
much is lost, whatever the device. Nothing here knows what is run.

Source:
    Kaplan et al. 2020, section 2.1: 2 N operations a token forward, 6 N with the backward pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Probe:
    """How much a device is asked for."""

    side: int
    """Rows and columns of the matrices."""
    rounds: int = 5
    """Of which the best counts: a floor is what the device can do, not what it did."""


PROBES = {"cuda": Probe(side=8192, rounds=10), "cpu": Probe(side=1024)}
"""By kind of device; each takes far below a second."""


@dataclass(frozen=True)
class Device:
    """What was measured of a device."""

    name: str
    read_bytes_s: float
    """Bytes a second in a product of a matrix and a vector, which reads each weight once."""
    flops: float
    """Floating-point operations a second in a product of two matrices."""


def measure(kind: str, dtype: torch.dtype) -> Device:
    """Return what a device reads and multiplies in a type.

    Args:
        kind: `cuda` or `cpu`.
        dtype: The type that the run computes in.
    """
    probe = PROBES[kind]
    matrix = torch.ones(probe.side, probe.side, device=kind, dtype=dtype)
    vector = torch.ones(probe.side, device=kind, dtype=dtype)
    reading = _best(lambda: torch.mv(matrix, vector), kind, probe.rounds)
    product = _best(lambda: torch.mm(matrix, matrix), kind, probe.rounds)
    name = torch.cuda.get_device_name() if kind == "cuda" else "this machine's processors"
    size = matrix.numel() * matrix.element_size()
    return Device(name, size / reading, 2.0 * probe.side**3 / product)


def decode_s(
    device: Device, *, weight_bytes: int, parameters: int, written: int, abreast: int, read: int
) -> float:
    """Return the least seconds in which turns can be written.

    Args:
        device: Who writes.
        weight_bytes: Bytes of the model, all of which are read for each token of a batch.
        parameters: Its numbers.
        written: Tokens to write.
        abreast: Dialogues that are written side by side, so that one reading serves all.
        read: Tokens of prompts and observations, which are read at once.
    """
    readings = written / abreast
    return readings * weight_bytes / device.read_bytes_s + 2.0 * parameters * read / device.flops


def update_s(device: Device, *, parameters: int, tokens: int) -> float:
    """Return the least seconds in which one network learns from tokens: 6 N operations each."""
    return 6.0 * parameters * tokens / device.flops


def _best(work: Callable[[], object], kind: str, rounds: int) -> float:
    """Return the seconds of the fastest of some rounds, after one that warms up."""
    seconds: list[float] = []
    for _ in range(rounds + 1):
        _wait(kind)
        began = time.perf_counter()
        work()
        _wait(kind)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])


def _wait(kind: str) -> None:
    if kind == "cuda":
        torch.cuda.synchronize()
