"""How often verdicts are right, on runs whose truth is known.

A simulated run has batches of 64 episodes, a slow trend, and drift that lasts; a change does
nothing, harms, or dips before it helps. The very functions that judge a live run judge it, beside
two rules of thumb: "the ten-step mean is lower than before", and "lower by more than .05".

Reproducible: the same seed gives the same table.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.random import Generator

from gate.effects import estimate, noise, verdicts
from gate.effects.designs import BASELINE_STEPS, Declaration, Design
from gate.effects.eprocess import HarmProcess
from gate.effects.verdicts import Evidence, Verdict

EPISODES = 64
SUCCESS = 0.45
TREND = 0.0005
"""Rise of success per step that owes nothing to the change."""
DRIFT_SD, DRIFT_MEMORY = 0.02, 0.9
"""Standard deviation and lag-1 autocorrelation of what wanders."""

LAG, WINDOW = 10, 30
NAIVE_STEPS, NAIVE_DROP = 10, 0.05


def constant(effect: float) -> Callable[[int], float]:
    """Return the effect of a change that does the same to success from its first step on."""
    return lambda step: effect


def late_help(step: int) -> float:
    """Return the effect of a change which costs .03 for ten steps, then rises to +.10 in twenty."""
    return min(-0.03 + 0.13 * max(step - 10, 0) / 20, 0.10)


TRUTHS: Mapping[str, Callable[[int], float]] = MappingProxyType(
    {
        "no effect": constant(0.0),
        "harm -.10": constant(-0.10),
        "harm -.20": constant(-0.20),
        "dip, then help": late_help,
    }
)
"""What the change really does to success, by steps since it came into force."""


@dataclass(frozen=True)
class Rates:
    """How often each verdict was given, as shares of the simulated runs."""

    harm: float
    help: float
    naive: float
    """Runs that "the ten-step mean is lower" would have rolled back."""
    naive_drop: float
    """Runs that "lower by more than .05" would have."""
    median_steps: float | None
    """Steps until harm was told, among the runs in which it was."""


def success_path(effect: Callable[[int], float], rng: Generator) -> tuple[float, ...]:
    """Return the success of one run, step by step, the baseline first."""
    steps = BASELINE_STEPS + LAG + WINDOW
    shocks = rng.normal(0.0, DRIFT_SD * (1 - DRIFT_MEMORY**2) ** 0.5, steps)
    drift = float(rng.normal(0.0, DRIFT_SD))
    chances: list[float] = []
    for step, shock in enumerate(shocks.tolist()):
        drift = DRIFT_MEMORY * drift + shock
        since = step - BASELINE_STEPS
        change = effect(since) if since >= 0 else 0.0
        chances.append(min(max(SUCCESS + TREND * step + drift + change, 0.01), 0.99))
    solved = rng.binomial(EPISODES, np.array(chances))
    return tuple((solved / EPISODES).tolist())


def judge(path: Sequence[float]) -> tuple[Verdict, int]:
    """Return the verdict on one run and the steps after which it was given."""
    before, since = path[:BASELINE_STEPS], path[BASELINE_STEPS:]
    declared = Declaration(Design.BEFORE_AFTER, opened=BASELINE_STEPS + 1, window=WINDOW, lag=LAG)
    measured = noise.of_baseline(before)
    process = HarmProcess(measured.long_run_sd, declared.margin)
    for step, value in enumerate(since, start=1):
        process = process.after(value - measured.mean)
        found = verdicts.decide(declared, Evidence(elapsed=step, harm=process.evidence))
        if found.verdict is Verdict.HARM:
            return found.verdict, step
    effect = estimate.before_after(before, since[LAG:], measured)
    evidence = Evidence(elapsed=len(since), effect=effect, harm=process.evidence)
    return verdicts.decide(declared, evidence).verdict, len(since)


def rates(effect: Callable[[int], float], *, runs: int, rng: Generator) -> Rates:
    """Return how often each verdict is given when the truth is known.

    Args:
        effect: The truth, one of `TRUTHS`.
        runs: Runs to simulate, at least 1.
        rng: Chance.
    """
    harmed: list[int] = []
    helped = lower = much_lower = 0
    for _ in range(runs):
        path = success_path(effect, rng)
        verdict, steps = judge(path)
        if verdict is Verdict.HARM:
            harmed.append(steps)
        helped += verdict is Verdict.HELP
        drop = statistics.fmean(path[BASELINE_STEPS - NAIVE_STEPS : BASELINE_STEPS]) - (
            statistics.fmean(path[BASELINE_STEPS : BASELINE_STEPS + NAIVE_STEPS])
        )
        lower += drop > 0
        much_lower += drop > NAIVE_DROP
    return Rates(
        harm=len(harmed) / runs,
        help=helped / runs,
        naive=lower / runs,
        naive_drop=much_lower / runs,
        median_steps=statistics.median(harmed) if harmed else None,
    )


def table(*, runs: int, seed: int) -> Mapping[str, Rates]:
    """Return the rates for every truth; each truth has its own stream of chance."""
    streams = np.random.SeedSequence(seed).spawn(len(TRUTHS))
    return {
        name: rates(effect, runs=runs, rng=np.random.default_rng(stream))
        for (name, effect), stream in zip(TRUTHS.items(), streams, strict=True)
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of rates."""
    parser = argparse.ArgumentParser(prog="python -m gate.effects", description=__doc__)
    parser.add_argument("--runs", type=int, default=4000, help="runs for each truth (4000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all chance (0)")
    options = parser.parse_args(arguments)
    print("truth            10-step mean lower   by > .05   HARM     HELP     steps to HARM")
    for name, found in table(runs=options.runs, seed=options.seed).items():
        steps = "-" if found.median_steps is None else f"{found.median_steps:g}"
        print(
            f"{name:16} {found.naive:18.1%} {found.naive_drop:10.1%} {found.harm:7.1%} "
            f"{found.help:8.1%} {steps:>12}"
        )
