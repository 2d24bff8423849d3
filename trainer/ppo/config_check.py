"""What a learner's configuration may say; every learner asks here before it loads a model."""

from __future__ import annotations

from trainer.ppo.credit import ESTIMATORS, UNITS
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
    check_schedule(config.lr_schedule, warmup=config.lr_warmup_steps, decay=config.lr_decay_steps)
