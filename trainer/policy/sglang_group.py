"""A process group of the learner and one server, over which weights are broadcast.

It is a group of its own beside whatever group the learner's ranks form, named and numbered as
SGLang's side of it: the learner is rank 0, the server's ranks follow. What is sent is not known.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import torch.distributed as dist
from torch import Tensor
from torch.distributed import distributed_c10d as c10d


class WeightGroup:
    """Rank 0 of a group; it waits until all others are there.

    Args:
        name: Of the group, the same on both sides.
        host: Address of this machine as the server sees it.
        port: A free port here.
        size: Ranks of the group, this one included.
        backend: `gloo` for tensors in memory, `nccl` on GPUs.
        timeout_s: For joining and for each broadcast.
    """

    def __init__(
        self, name: str, *, host: str, port: int, size: int, backend: str, timeout_s: float
    ) -> None:
        timeout = timedelta(seconds=timeout_s)
        # Made here and not by torch's rendezvous, which under torchrun would take a store of the
        # launcher's for granted and wait for it in vain.
        store = dist.TCPStore(  # pyright: ignore[reportPrivateImportUsage]
            host, port, size, is_master=True, timeout=timeout, multi_tenant=True
        )
        # torch offers no public way to a second group beside a default one of other processes;
        # SGLang and every trainer that feeds it take this one.
        make: Any = c10d._new_process_group_helper  # pyright: ignore[reportPrivateUsage]
        self._group, _ = make(
            size,
            0,
            [],
            dist.Backend(backend),
            c10d.PrefixStore(name, store),
            group_name=name,
            timeout=timeout,
        )
        # Without its ranks on file torch can use the group and not take it down.
        world: Any = c10d._world  # pyright: ignore[reportPrivateUsage]
        world.pg_group_ranks[self._group] = {rank: rank for rank in range(size)}
        self._store = store

    def send(self, tensors: Iterable[Tensor]) -> None:
        """Broadcast tensors one after the other, as they lie.

        Raises:
            RuntimeError: if the other side does not take them in time.
        """
        options = dist.BroadcastOptions()
        options.rootRank = 0
        options.rootTensor = 0
        for tensor in tensors:
            self._group.broadcast([tensor], options).wait()

    def close(self) -> None:
        """Leave the group."""
        dist.destroy_process_group(self._group)


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def own_address(url: str) -> str:
    """Return the address of this machine on the way to a server.

    Args:
        url: Address of the server.
    """
    parts = urlsplit(url)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Nothing is sent: connecting a datagram socket only chooses the interface.
        probe.connect((parts.hostname or "127.0.0.1", parts.port or 80))
        return str(probe.getsockname()[0])
