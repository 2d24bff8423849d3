"""Measurements of this machine and this code, as ratios within one run where they can be.

One file per measurement; each has the sizes of a full and of a quick look. Nothing else imports
this package, and it changes nothing outside temporary folders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from trainer.bench import (
    evaluations,
    masked_gae,
    methods,
    peers,
    reconcile,
    rollout,
    scripted,
    step_overhead,
    update,
    user_replies,
)
from trainer.bench.figures import Figure


@dataclass(frozen=True)
class Bench:
    """One measurement."""

    question: str
    """What it answers, in one line."""
    full: Callable[[], list[Figure]]
    quick: Callable[[], list[Figure]]
    """The same with fewer repetitions; noisier, never another workload."""


BENCHES: Mapping[str, Bench] = {
    "reconcile": Bench(
        "What do live knobs cost at a step boundary?",
        partial(reconcile.measure, reconcile.FULL),
        partial(reconcile.measure, reconcile.QUICK),
    ),
    "user": Bench(
        "How many replies does the symbolic user give on one core?",
        partial(user_replies.measure, user_replies.FULL),
        partial(user_replies.measure, user_replies.QUICK),
    ),
    "worlds": Bench(
        "How many scripted episodes does each world play on one core?",
        partial(scripted.measure, scripted.FULL),
        partial(scripted.measure, scripted.QUICK),
    ),
    "sandbox": Bench(
        "How many answers does the sandbox evaluate, one at a time?",
        partial(evaluations.measure, evaluations.FULL),
        partial(evaluations.measure, evaluations.QUICK),
    ),
    "rollout": Bench(
        "What does the sampler gain over re-reading the history each turn?",
        partial(rollout.measure, rollout.FULL),
        partial(rollout.measure, rollout.QUICK),
    ),
    "update": Bench(
        "What does a PPO update cost beside a plain forward and backward pass?",
        partial(update.measure, update.FULL),
        partial(update.measure, update.QUICK),
    ),
    "methods": Bench(
        "What does a step of each method of credit cost beside PPO's, on one batch?",
        partial(methods.measure, methods.FULL),
        partial(methods.measure, methods.QUICK),
    ),
    "step": Bench(
        "How much of a demo step is not model arithmetic?",
        partial(step_overhead.measure, step_overhead.FULL),
        partial(step_overhead.measure, step_overhead.QUICK),
    ),
    "peers": Bench(
        "How long is a step of the workload on which other trainers were measured?",
        partial(peers.measure, peers.FULL),
        partial(peers.measure, peers.QUICK),
    ),
    "gae": Bench(
        "How fast is GAE over action tokens, and is it right?",
        partial(masked_gae.measure, masked_gae.FULL),
        partial(masked_gae.measure, masked_gae.QUICK),
    ),
}
"""Every measurement by the name that `--only` takes."""
