"""What a learner's configuration may say; every learner asks here before it loads a model."""

from __future__ import annotations

from collections.abc import Iterator

from trainer.ppo.credit import ESTIMATORS, UNITS
from trainer.ppo.credit_options import option_faults
from trainer.ppo.learner import LearnConfig
from trainer.ppo.schedules import check_schedule

KL_MODES = ("reward", "loss")


def check_config(config: LearnConfig) -> None:
    """Refuse a configuration before any model is touched.

    Raises:
        ValueError: naming the field, its value and what it may be.
    """
    for field, value, allowed in (
        ("credit", config.credit, tuple(ESTIMATORS)),
        ("gae_unit", config.gae_unit, tuple(UNITS)),
        ("kl_mode", config.kl_mode, KL_MODES),
    ):
        if value not in allowed:
            names = ", ".join(allowed)
            raise ValueError(f"learner.{field} is {value!r}; it must be one of {names}")
    for field in ("minibatch_dialogues", "micro_batch_tokens"):
        if getattr(config, field) < 1:
            raise ValueError(f"learner.{field} is {getattr(config, field)}; it must be at least 1")
    if not config.temperature > 0:
        raise ValueError(f"learner.temperature is {config.temperature}; it must be above 0")
    if config.stale_gate is not None and not config.stale_gate >= 0:
        raise ValueError(
            f"learner.stale_gate is {config.stale_gate}; it must be 0 or more, or null"
        )
    if config.group_ddof not in (0, 1):
        raise ValueError(f"learner.group_ddof is {config.group_ddof}; it must be 0 or 1")
    for fault in option_faults(config.faca, config.userrl, config.infopo):
        raise ValueError(fault)
    check_schedule(config.lr_schedule, warmup=config.lr_warmup_steps, decay=config.lr_decay_steps)


def group_faults(config: LearnConfig, *, group_size: int) -> Iterator[str]:
    """Yield why a method of credit cannot work with this many rollouts of a task.

    Args:
        config: What the learner fixes; an unknown `credit` is not told here.
        group_size: The recipe's `rollout.group_size`.
    """
    estimator = ESTIMATORS.get(config.credit)
    if estimator is not None and estimator.needs_groups and group_size < 2:
        yield (
            f"rollout.group_size is {group_size}; learner.credit {config.credit!r} compares the "
            "rollouts of one task and learns nothing from one alone: set it to 2 or more, such "
            "as 4, with rollout.dialogues_per_step a multiple of it"
        )
