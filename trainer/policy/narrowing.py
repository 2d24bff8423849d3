"""The type that a model's weights are held in, changed without touching what must stay exact.

Rotary frequencies are buffers. Rounded to half precision they turn a token at position 4,000 by
whole radians, and the model is another one than its makers trained; `Module.to` rounds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


def hold_in(model: nn.Module, dtype: torch.dtype) -> None:
    """Hold a model's parameters in a type, in place; buffers keep theirs."""
    for parameter in model.parameters():
        parameter.data = parameter.data.to(dtype)


@contextmanager
def exact_buffers(model: nn.Module) -> Iterator[None]:
    """Let somebody else change a model's type, and give its buffers back as they were after that.

    They stay where they have been moved to.
    """
    before = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
    yield
    for name, buffer in model.named_buffers():
        if buffer.dtype != before[name].dtype:
            buffer.data = before[name].to(buffer.device)
