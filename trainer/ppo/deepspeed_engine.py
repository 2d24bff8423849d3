"""A DeepSpeed engine as something that learns: one network, spread over the ranks by ZeRO.

The engine runs whatever computation it is handed inside its own forward, so the losses are the
same code that one process trains with. The optimizer is torch's AdamW under every stage, with its
memory laid out from the start: nothing is compiled, and a first step is like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from trainer.policy.narrowing import exact_buffers
from trainer.ppo.deepspeed_options import DeepSpeedOptions
from trainer.ppo.deepspeed_ranks import package
from trainer.ppo.optimization import make_optimizer, rate_in_force, set_rate
from trainer.ppo.weights import named_parameters

Result = TypeVar("Result")

MOMENTS = ("exp_avg", "exp_avg_sq")
"""What AdamW remembers of every parameter, beside its count of steps."""


class _Visited(nn.Module):
    """A network inside an engine: it computes what it is handed."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, compute: Callable[[Any], Result]) -> Result:
        """Return what `compute` makes of the network."""
        return compute(self.network)


class Engine:
    """One network of the update; implements `trained.Trained`.

    Args:
        network: What is trained, in float32; the engine takes it over.
        options: Stage, offload, dtype.
        weight_decay: Decoupled decay of matrices, per unit of learning rate.
        max_grad_norm: Norm to which a sharded gradient is clipped.
        size: Ranks of the job.
    """

    def __init__(
        self,
        network: nn.Module,
        options: DeepSpeedOptions,
        *,
        weight_decay: float,
        max_grad_norm: float,
        size: int,
    ) -> None:
        self.network = network
        self.stage = options.zero_stage
        self._size = size
        optimizer = make_optimizer(network, weight_decay=weight_decay)
        with exact_buffers(network):
            self.engine, *_ = package().initialize(
                model=_Visited(network),
                optimizer=optimizer,
                config=engine_config(options, max_grad_norm=max_grad_norm),
            )
        self.engine.module.eval()
        self._adamw: torch.optim.Optimizer = self.engine.basic_optimizer
        for master in self.masters():
            self._adamw.state[master] = {
                "step": torch.zeros((), dtype=torch.float32, device=master.device),
                **{moment: torch.zeros_like(master, requires_grad=False) for moment in MOMENTS},
            }
        if hasattr(self.engine.optimizer, "_lazy_init_hp_params_optimizer_state"):
            self.engine.optimizer._lazy_init_hp_params_optimizer_state()

    def masters(self) -> list[Tensor]:
        """Return this rank's part of the float32 weights, as the optimizer steps them."""
        optimizer = self.engine.optimizer
        for name in (
            "fp32_partitioned_groups_flat",
            "single_partition_of_fp32_groups",
            "fp32_groups_flat_partition",
        ):
            if hasattr(optimizer, name):
                return list(getattr(optimizer, name))
        return list(named_parameters(self.network).values())

    def memory(self) -> list[dict[str, Tensor]]:
        """Return this rank's part of the optimizer's memory, one entry for each of `masters`."""
        return [self._adamw.state[master] for master in self.masters()]

    @property
    def rate(self) -> float:
        """The learning rate that the optimizer holds."""
        return rate_in_force(self._adamw)

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next steps."""
        set_rate(self._adamw, rate)

    def visit(self, compute: Callable[[Any], Result]) -> Result:
        """Return what `compute` makes of the network; all ranks visit together."""
        return self.engine(compute)

    def backward(self, loss: Tensor, *, last: bool) -> None:
        """Add a loss's gradient to what is there.

        The engine takes the mean over ranks, and a loss is this rank's share of the whole
        minibatch's mean: times the number of ranks, the shares add up to it.
        """
        self.engine.set_gradient_accumulation_boundary(last)
        self.engine.backward(loss * self._size)

    def clip(self, max_norm: float) -> float:
        """Clip the gradient and return the norm it had; a sharded one takes its step here."""
        if self.stage == 0:
            return float(nn.utils.clip_grad_norm_(self.network.parameters(), max_norm))
        self.engine.step()
        return float(self.engine.get_global_grad_norm())

    def step(self) -> None:
        """Take the optimizer's step, unless `clip` took it."""
        if self.stage == 0:
            self.engine.step()

    def forget_gradients(self) -> None:
        """Free the gradients that a step has used; a sharded engine does so itself."""
        if self.stage == 0:
            self._adamw.zero_grad(set_to_none=True)

    def drop_step(self) -> None:
        """Spend whatever was added up on a step, so that nothing of it is left.

        The weights are then worth nothing: the caller puts a snapshot back.
        """
        if self.stage > 0:
            self.engine.set_gradient_accumulation_boundary(True)
            self.engine.step()
        self.forget_gradients()


def engine_config(options: DeepSpeedOptions, *, max_grad_norm: float) -> dict[str, Any]:
    """Return DeepSpeed's configuration of one engine.

    Batch sizes are nominal: passes are cut and counted by `epochs`, and the last one of a
    minibatch is announced.
    """
    zero: dict[str, Any] = {
        "stage": options.zero_stage,
        "reduce_bucket_size": options.bucket_elements,
        "allgather_bucket_size": options.bucket_elements,
    }
    if options.offload_optimizer:
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": torch.cuda.is_available()}
    return {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": max_grad_norm if options.zero_stage > 0 else 0.0,
        "zero_optimization": zero,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "bf16": {"enabled": options.dtype == "bfloat16"},
        "data_types": {"grad_accum_dtype": "fp32"},
        "steps_per_print": None,
        "wall_clock_breakdown": False,
    }
