"""Measurements of this machine and this code, as ratios within one run where they can be.

One file per measurement; each has the sizes of a full and of a quick look. Nothing else imports
this package, and it changes nothing outside temporary folders.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from trainer.bench.figures import Figure


@dataclass(frozen=True)
class Bench:
    """One measurement."""

    question: str
    """What it answers, in one line."""
    module: str
    """Its file here, which is loaded when it measures: most load a tensor library."""

    def measure(self, *, quick: bool) -> list[Figure]:
        """Measure, or look quickly: fewer repetitions, noisier, never another workload."""
        file = importlib.import_module(f"{__name__}.{self.module}")
        return file.measure(file.QUICK if quick else file.FULL)


BENCHES: Mapping[str, Bench] = {
    "reconcile": Bench("What do live knobs cost at a step boundary?", "reconcile"),
    "user": Bench("How many replies does the symbolic user give on one core?", "user_replies"),
    "worlds": Bench("How many scripted episodes does each world play on one core?", "scripted"),
    "sandbox": Bench("How many answers does the sandbox evaluate, one at a time?", "evaluations"),
    "rollout": Bench(
        "What does the sampler gain over re-reading the history each turn?", "rollout"
    ),
    "update": Bench(
        "What does a PPO update cost beside a plain forward and backward pass?", "update"
    ),
    "methods": Bench(
        "What does a step of each method of credit cost beside PPO's, on one batch?", "methods"
    ),
    "step": Bench("How much of a demo step is not model arithmetic?", "step_overhead"),
    "peers": Bench(
        "How long is a step of the workload on which other trainers were measured?", "peers"
    ),
    "gae": Bench("How fast is GAE over action tokens, and is it right?", "masked_gae"),
}
"""Every measurement by the name that `--only` takes."""
