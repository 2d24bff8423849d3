"""Learning-rate schedules as pure functions of the number of updates.

A schedule is a factor that multiplies the live learning rate, so a rate changed during a run acts
at once under any schedule, and a resumed run needs no scheduler state: the count of updates is all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping


def constant(progress: float) -> float:
    """Stay at 1."""
    del progress
    return 1.0


def linear(progress: float) -> float:
    """Fall in a straight line from 1 to 0."""
    return 1.0 - progress


def cosine(progress: float) -> float:
    """Fall from 1 to 0 along half a cosine."""
    return 0.5 * (1.0 + math.cos(math.pi * progress))


SCHEDULES: Mapping[str, Callable[[float], float]] = {
    "constant": constant,
    "linear": linear,
    "cosine": cosine,
}


def check_schedule(name: str, *, warmup: int, decay: int) -> None:
    """Refuse a schedule that could not be followed.

    Args:
        name: A key of `SCHEDULES`.
        warmup: Updates of the warm-up, >= 0.
        decay: Updates after which a falling schedule has reached 0.

    Raises:
        ValueError: if the name is unknown, or a falling schedule has no room to fall.
    """
    if name not in SCHEDULES:
        raise ValueError(
            f"learner.lr_schedule is {name!r}; it must be one of {', '.join(SCHEDULES)}"
        )
    if name != "constant" and decay <= warmup:
        raise ValueError(
            f"learner.lr_schedule {name!r} ends after lr_decay_steps = {decay} updates, which must "
            f"be more than the {warmup} of lr_warmup_steps; set it to the run's number of steps"
        )


def lr_factor(name: str, update: int, *, warmup: int, decay: int) -> float:
    """Return what to multiply the live learning rate by, in [0, 1].

    The warm-up climbs in a straight line and reaches 1 at its last update; the schedule falls
    between the warm-up's end and `decay`, and stays where it ends.

    Args:
        name: A key of `SCHEDULES`.
        update: Updates made before this one.
        warmup: Updates of the warm-up, >= 0.
        decay: Updates after which a falling schedule has reached 0; not used by `constant`.
    """
    if update < warmup:
        return (update + 1) / warmup
    if name == "constant":
        return 1.0
    return SCHEDULES[name](min((update - warmup) / (decay - warmup), 1.0))
