"""Ranks: the processes of one DeepSpeed job, joined, and how they pass values to each other.

Started by `torchrun` or by `deepspeed`, a process finds its place in the environment; started by
hand it is the only one. Values travel over gloo, which waits as long as a rollout or a full disk
may take; a rank that dies is noticed by the launcher, which ends the others. This module knows
nothing about what the values mean.
"""

from __future__ import annotations

import importlib
import logging
import os
import socket
import warnings
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from trainer.ppo.deepspeed_options import INSTALL

_PATIENCE = timedelta(days=7)
"""How long a rank waits for a value; long, since nothing but a dead rank is a reason to give up."""


@dataclass(frozen=True)
class Ranks:
    """This process's place among those of the job."""

    rank: int
    size: int
    device: str
    values: Any
    """The gloo group over which values travel."""

    @property
    def leads(self) -> bool:
        """Whether this is rank 0: the one that reads knobs and writes records."""
        return self.rank == 0

    def broadcast(self, value: Any = None) -> Any:
        """Return rank 0's value to every rank; the others pass nothing."""
        carried = [value]
        dist.broadcast_object_list(carried, src=0, group=self.values)
        return carried[0]

    def gather(self, value: Any) -> list[Any]:
        """Return every rank's value to every rank, by rank."""
        gathered: list[Any] = [None] * self.size
        dist.all_gather_object(gathered, value, group=self.values)
        return gathered

    def total(self, tensor: Tensor) -> Tensor:
        """Return the sum of all ranks' tensors."""
        summed = tensor.clone()
        dist.all_reduce(summed, op=dist.ReduceOp.SUM)
        return summed

    def largest(self, tensor: Tensor) -> Tensor:
        """Return the elementwise maximum of all ranks' tensors."""
        highest = tensor.clone()
        dist.all_reduce(highest, op=dist.ReduceOp.MAX)
        return highest

    def from_first(self, tensor: Tensor) -> Tensor:
        """Fill a tensor with rank 0's, in place, and return it."""
        dist.broadcast(tensor, src=0)
        return tensor


def package() -> Any:
    """Return the package `deepspeed`, ready for whatever hardware there is.

    Raises:
        ModuleNotFoundError: saying how to install it.
    """
    if not torch.cuda.is_available():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    try:
        deepspeed = importlib.import_module("deepspeed")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"the learner needs {error.name}; {INSTALL}") from error
    # Shared-memory collectives are compiled at first use, for a minute and only where there is a
    # compiler; gloo's are enough for the CPU.
    importlib.import_module("deepspeed.ops").__compatible_ops__["deepspeed_shm_comm"] = False
    logging.getLogger("DeepSpeed").setLevel(logging.ERROR)
    # It calls collectives by the names that torch is about to change, at every layer of stage 3.
    warnings.filterwarnings("ignore", category=FutureWarning, module="torch.distributed")
    return deepspeed


def join() -> Ranks:
    """Join the other processes of the job; returns once all are there."""
    deepspeed = package()
    if "RANK" not in os.environ:
        os.environ.update(
            RANK="0",
            LOCAL_RANK="0",
            WORLD_SIZE="1",
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(_free_port()),
        )
    cuda = torch.cuda.is_available()
    local = int(os.environ.get("LOCAL_RANK", "0"))
    if cuda:
        torch.cuda.set_device(local)
    if not dist.is_initialized():
        deepspeed.init_distributed(dist_backend="nccl" if cuda else "gloo", verbose=False)
    return Ranks(
        rank=dist.get_rank(),
        size=dist.get_world_size(),
        device=f"cuda:{local}" if cuda else "cpu",
        values=dist.new_group(backend="gloo", timeout=_PATIENCE),
    )


def part() -> None:
    """Leave the job; every rank calls it at its end."""
    if dist.is_initialized():
        dist.destroy_process_group()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
