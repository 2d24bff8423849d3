"""The learner's side of the fake server: the same table of logits as a model in torch."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

VOCAB = 24


class Bigram(nn.Module):
    """Next token by the one before; what the sampler uses of a transformers model."""

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__()
        made = torch.Generator().manual_seed(seed)
        self.table = nn.Parameter(torch.randn(VOCAB, VOCAB, generator=made))
        self.config = SimpleNamespace(vocab_size=VOCAB)
        self.dtype = torch.float32
        self.device = torch.device("cpu")

    def forward(self, input_ids: Tensor, logits_to_keep: int = 0) -> Any:
        """Return logits of the last places; of all for 0."""
        return SimpleNamespace(logits=self.table[input_ids[:, -logits_to_keep:]])

    def save_pretrained(self, directory: Path) -> None:
        """Write the weights as a model directory."""
        directory.mkdir(parents=True)
        save_file({"table": self.table.detach()}, directory / "model.safetensors")


def as_pretrained(model: Bigram) -> PreTrainedModel:
    """Return it as what the sampler's signature asks for."""
    return cast("PreTrainedModel", cast("object", model))


@torch.no_grad()
def update(model: Bigram, size: float = 0.5) -> None:
    """Change the weights, as an update does."""
    model.table.add_(torch.linspace(-size, size, VOCAB * VOCAB).view(VOCAB, VOCAB))
