"""Peers: the processes that learn one policy together, and how they divide an update.

A batch is cut into passes and the passes are dealt out; every process computes its own and the
sums are added up over all of them, so the result is that of one process. All take equally many
passes, since a sharded network computes with everybody or not at all. One process alone is the
default and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from torch import Tensor, nn

from trainer.ppo.batch import micro_batches

Result = TypeVar("Result")


class Visit(Protocol):
    """How a computation gets at a network."""

    def __call__(self, network: Any, compute: Callable[[Any], Result]) -> Result:
        """Return what `compute` makes of the network."""
        ...


class Pass(NamedTuple):
    """One forward pass of one process."""

    rows: list[int]
    counts: bool
    """False for a pass that is made only because the others make one: its result is not used."""


def directly(network: nn.Module, compute: Callable[[Any], Result]) -> Result:
    """Compute with a network that this process holds whole."""
    return compute(network)


def _alone(tensor: Tensor) -> Tensor:
    """Return the tensor: there is nobody to ask."""
    return tensor


@dataclass(frozen=True)
class Peers:
    """This process among those that learn together."""

    rank: int = 0
    size: int = 1
    visit: Visit = directly
    total: Callable[[Tensor], Tensor] = _alone
    """Returns the sum of all processes' tensors; all call it in the same order."""
    largest: Callable[[Tensor], Tensor] = _alone
    """Returns the elementwise maximum of all processes' tensors."""

    def passes(self, lengths: Sequence[int], *, max_tokens: int) -> list[Pass]:
        """Return this process's passes over some rows; every process gets as many.

        Args:
            lengths: Tokens of each row.
            max_tokens: Limit on the padded tokens of a pass; several processes also cut so finely
                that each gets a part.
        """
        if self.size > 1:
            max_tokens = min(max_tokens, -(-sum(lengths) // self.size))
        return self.deal(micro_batches(lengths, max_tokens=max_tokens))

    def deal(self, passes: Sequence[list[int]]) -> list[Pass]:
        """Return this process's part of all passes, in their order."""
        mine = list(passes[self.rank :: self.size])
        rounds = -(-len(passes) // self.size)
        # The last pass holds the shortest rows: the cheapest way to keep in step.
        idle = [Pass(passes[-1], False)] if len(mine) < rounds else []
        return [*(Pass(rows, True) for rows in mine), *idle]


ALONE = Peers()
