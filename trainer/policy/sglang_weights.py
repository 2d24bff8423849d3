"""Ways on which the learner's weights reach a server: inside a request, broadcast, or as files.

Each way ends with the server's word that it took them under the stamp that it was given; whether
that is true is checked elsewhere (`trainer.policy.sglang_agreement`). Tied weights travel once.
"""

from __future__ import annotations

import base64
import pickle
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from torch import Tensor
from transformers import PreTrainedModel

from trainer.policy.lora import plain, plain_weights
from trainer.policy.sglang_client import ServerClient, ServerGone, ServerRefused
from trainer.policy.sglang_group import WeightGroup, free_port, own_address

BUCKET_BYTES = 256 << 20
"""Weights that travel in one request; a model larger than this goes in several."""

Bucket = list[tuple[str, Tensor]]


class WeightWay(Protocol):
    """One way to a server."""

    def send(self, client: ServerClient, model: PreTrainedModel, stamp: str) -> None:
        """Give a server the model's weights under a stamp.

        Raises:
            ServerGone: if the server does not answer.
            ServerRefused: if it did not take them.
        """
        ...

    def forget(self, client: ServerClient) -> None:
        """Drop what is kept about a server, which is being started anew."""
        ...

    def close(self) -> None:
        """Give back files, ports and groups."""
        ...


class DiskWay:
    """Weights as a Hugging Face directory that the servers read; always the way out.

    Args:
        folder: Where they are written; the servers must see it under this path.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: Path | None = None

    def write(self, model: PreTrainedModel, stamp: str) -> Path:
        """Return the directory with the model's weights, written unless it is there already."""
        directory = self._folder / stamp
        if self._written != directory:
            old, self._written = self._written, None
            plain(model).save_pretrained(directory)
            if old is not None:
                shutil.rmtree(old, ignore_errors=True)
            self._written = directory
        return directory

    def send(self, client: ServerClient, model: PreTrainedModel, stamp: str) -> None:
        """Write the weights once for all servers and let one of them read; see `WeightWay`."""
        directory = self.write(model, stamp)
        body = {"model_path": str(directory), "weight_version": stamp, "flush_cache": True}
        client.update("disk", body)

    def forget(self, client: ServerClient) -> None:
        """Keep nothing about a server."""

    def close(self) -> None:
        """Remove the weights."""
        if self._written is not None:
            shutil.rmtree(self._written, ignore_errors=True)
        self._written = None


class TensorWay:
    """Weights inside the request itself, for a server on the same node."""

    def send(self, client: ServerClient, model: PreTrainedModel, stamp: str) -> None:
        """Send the weights in buckets; see `WeightWay`."""
        ranks = client.ranks()
        client.begin_update()
        for bucket in buckets(model):
            packed = [(name, tensor.cpu().clone()) for name, tensor in bucket]
            # SGLang takes tensors in this form alone; it is written here and never read. Plain
            # pickling copies them in, where torch's own would share memory by a server process
            # that outlives both.
            payload = base64.b64encode(pickle.dumps(packed)).decode("ascii")
            body = {"serialized_named_tensors": [payload] * ranks, "weight_version": stamp}
            client.update("tensor", {**body, "flush_cache": True})
        client.end_update()

    def forget(self, client: ServerClient) -> None:
        """Keep nothing about a server."""

    def close(self) -> None:
        """Hold nothing."""


class DistributedWay:
    """Weights broadcast in a process group, for servers on other nodes.

    Args:
        timeout_s: For joining a group and for each broadcast.
    """

    def __init__(self, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._groups: dict[str, tuple[str, WeightGroup]] = {}
        self._made = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="weights")

    def send(self, client: ServerClient, model: PreTrainedModel, stamp: str) -> None:
        """Broadcast the weights in buckets; see `WeightWay`."""
        device = model.device.type
        name, group = self._group(client, "nccl" if device == "cuda" else "gloo")
        client.begin_update()
        for bucket in buckets(model):
            tensors = [tensor.contiguous() for _, tensor in bucket]
            body = {
                "names": [name for name, _ in bucket],
                "dtypes": [str(tensor.dtype).removeprefix("torch.") for tensor in tensors],
                "shapes": [list(tensor.shape) for tensor in tensors],
                "group_name": name,
                "weight_version": stamp,
                "flush_cache": True,
            }
            self._together(client, group, tensors, body)
        client.end_update()

    def _together(
        self,
        client: ServerClient,
        group: WeightGroup,
        tensors: list[Tensor],
        body: dict[str, object],
    ) -> None:
        """Announce a bucket and broadcast it at once: the server answers when it has it."""
        answer = self._pool.submit(client.update, "distributed", body)
        try:
            group.send(tensors)
        except RuntimeError as error:
            raise ServerRefused(
                f"{client.url}: the broadcast of weights failed: {error}"
            ) from error
        finally:
            answer.result()

    def _group(self, client: ServerClient, backend: str) -> tuple[str, WeightGroup]:
        if client.url not in self._groups:
            self._made += 1
            name = f"eau-weights-{self._made}"
            host, port, size = own_address(client.url), free_port(), client.ranks() + 1
            body = {
                "master_address": host,
                "master_port": port,
                "rank_offset": 1,
                "world_size": size,
                "group_name": name,
                "backend": backend,
            }
            answer = self._pool.submit(client.join_group, body)
            try:
                group = WeightGroup(
                    name,
                    host=host,
                    port=port,
                    size=size,
                    backend=backend,
                    timeout_s=self._timeout_s,
                )
            except RuntimeError as error:
                raise ServerRefused(f"{client.url}: no group for weights: {error}") from error
            finally:
                answer.result()
            self._groups[client.url] = name, group
        return self._groups[client.url]

    def forget(self, client: ServerClient) -> None:
        """Leave the group of a server that is being started anew."""
        found = self._groups.pop(client.url, None)
        if found is not None:
            found[1].close()

    def close(self) -> None:
        """Leave all groups."""
        for url, (name, group) in self._groups.items():
            client = ServerClient(url, timeout_s=self._timeout_s)
            try:
                client.leave_group(name)
            except (ServerGone, ServerRefused):
                # It takes its side of the group with it.
                pass
            finally:
                client.close()
            group.close()
        self._groups.clear()
        self._pool.shutdown()


def buckets(model: PreTrainedModel, *, most: int = BUCKET_BYTES) -> Iterator[Bucket]:
    """Yield a model's parameters by name, so many bytes at a time and at least one.

    Adapters are merged into what they stand on: a server serves a plain model.
    """
    bucket: Bucket = []
    size = 0
    for name, tensor in plain_weights(model):
        num_bytes = tensor.numel() * tensor.element_size()
        if bucket and size + num_bytes > most:
            yield bucket
            bucket, size = [], 0
        bucket.append((name, tensor))
        size += num_bytes
    if bucket:
        yield bucket
