"""What is trained: a network and its optimizer behind one small seam.

`Resident` holds both in this process; an engine may spread them over many. This module knows
nothing about losses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor, nn
from torch.optim import Optimizer

from trainer.ppo.optimization import rate_in_force, set_rate

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Trained(Protocol):
    """A network that learns."""

    @property
    def network(self) -> Any:
        """The network, as the losses take it."""
        ...

    @property
    def rate(self) -> float:
        """The learning rate that the optimizer holds."""
        ...

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next steps."""
        ...

    def backward(self, loss: Tensor, *, last: bool) -> None:
        """Add a loss's gradient to what is there.

        Args:
            loss: This process's share of the minibatch's loss.
            last: Whether it is the minibatch's last pass.
        """
        ...

    def clip(self, max_norm: float) -> float:
        """Clip the gradient to a norm and return the norm it had.

        Where clipping and stepping are one, as in an engine, the step is taken here: then a
        caller keeps a snapshot for a norm that is not finite.
        """
        ...

    def step(self) -> None:
        """Take the optimizer's step, unless `clip` took it."""
        ...

    def forget_gradients(self) -> None:
        """Free the gradients, those of an update that failed too."""
        ...


@dataclass(frozen=True)
class Resident:
    """A network and its optimizer in this process."""

    network: nn.Module
    optimizer: Optimizer

    @property
    def rate(self) -> float:
        """The learning rate that the optimizer holds."""
        return rate_in_force(self.optimizer)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next steps."""
        set_rate(self.optimizer, rate)

    def backward(self, loss: Tensor, *, last: bool) -> None:
        """Add a loss's gradient to what is there."""
        del last
        loss.backward()

    def clip(self, max_norm: float) -> float:
        """Clip the gradient to a norm and return the norm it had."""
        return float(nn.utils.clip_grad_norm_(self.network.parameters(), max_norm))

    def step(self) -> None:
        """Take the optimizer's step."""
        self.optimizer.step()

    def forget_gradients(self) -> None:
        """Free the gradients."""
        self.optimizer.zero_grad(set_to_none=True)


def resident(model: PreTrainedModel, device: str) -> PreTrainedModel:
    """Move a model, in place, and switch its dropout off."""
    nn.Module.to(model, device)
    return model.eval()


@dataclass(frozen=True)
class Networks:
    """What one update trains."""

    actor: Trained
    critic: Trained | None

    def named(self) -> list[tuple[str, Trained]]:
        """List what is trained by name, the actor first."""
        return [("actor", self.actor), *([("critic", self.critic)] if self.critic else [])]

    def forget_gradients(self) -> None:
        """Free all gradients."""
        for _, trained in self.named():
            trained.forget_gradients()
