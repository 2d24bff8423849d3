"""The critic: what the future of a dialogue is worth, token by token.

It has a backbone of its own, a copy of the actor's at the start, so that value errors never pull at
the policy; on a frozen model it has adapters of its own, and shares what is under them. Its head is
one linear layer in at least float32 whose weights start at zero: before the first update every
value is exactly 0. A value is never divided by a temperature.

Dimensions: B trajectories, T tokens, H hidden.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from trainer.policy.lora import twin
from trainer.ppo.forward import body_outputs, head_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class ValueHead(nn.Linear):
    """One number per hidden state, computed in at least float32 whatever its weights are kept in.

    An engine may round the weights to half precision; what it must not round is the value.
    """

    def forward(self, hidden_BTH: Tensor) -> Tensor:
        """Return the value at every token, shape (B, T, 1)."""
        dtype = torch.promote_types(self.weight.dtype, torch.float32)
        weight_1H, bias_1 = self.weight.to(dtype), self.bias.to(dtype)
        return nn.functional.linear(hidden_BTH.to(dtype), weight_1H, bias_1)


class Critic(nn.Module):
    """A transformer body with a scalar head at every token."""

    def __init__(self, body: nn.Module, hidden_size: int) -> None:
        """Put a zero head on a body.

        Args:
            body: A transformer without head; it becomes the critic's own.
            hidden_size: Width of its last hidden state.
        """
        super().__init__()
        self.body = body
        parameter = next(body.parameters())
        self.head = ValueHead(
            hidden_size,
            1,
            dtype=torch.promote_types(parameter.dtype, torch.float32),
            device=parameter.device,
        )
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids_BT: Tensor, position_ids_BT: Tensor) -> Tensor:
        """Return the value of the state after each token has been read, shape (B, T)."""
        hidden_BTH = body_outputs(self.body, ids_BT, position_ids_BT)
        return self.head(hidden_BTH).squeeze(-1)


def critic_like(actor: PreTrainedModel) -> Critic:
    """Return a critic whose backbone is a copy of the actor's body as it is now.

    What is frozen there is shared, not copied.
    """
    return Critic(twin(cast("nn.Module", actor.base_model)), head_of(actor).weight.shape[1])


def values_before(outputs_BT: Tensor) -> Tensor:
    """Return the value of the state before each token: the output one position earlier.

    Nothing stands before the first token; it gets 0 and is never an action.

    Args:
        outputs_BT: The critic's value of the state after each token.
    """
    return torch.nn.functional.pad(outputs_BT[:, :-1], (1, 0))


def bootstrap_values(outputs_BT: Tensor, lengths_B: Tensor, truncated_B: Tensor) -> Tensor:
    """Return what a cut episode could still have earned: V of the state after its last action.

    Args:
        outputs_BT: The critic's value of the state after each token.
        lengths_B: Tokens of each row up to and with its last action, >= 1.
        truncated_B: True where a limit, not the world, ended the episode; others get 0.
    """
    last_B = outputs_BT.gather(1, lengths_B[:, None] - 1).squeeze(1)
    return torch.where(truncated_B, last_B, 0.0)
