"""Two arms that are equal are told apart no more often than the level allows, in 10,000 draws.

The test is forced open: ten steps at so much noise are underpowered by design.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from gate.effects import estimate, power, verdicts
from gate.effects.designs import Declaration, Design
from gate.effects.eprocess import HarmProcess
from gate.effects.verdicts import Evidence, Verdict

DRAWS, STEPS, SD = 10_000, 10, 0.228


def gaussian(rng: random.Random) -> float:
    """Return new minus old of one step of two arms with a standard deviation of .228 each."""
    return rng.gauss(0.5, SD) - rng.gauss(0.5, SD)


def five_episodes(rng: random.Random) -> float:
    """Return the same of five real episodes on each side, which is about as noisy."""
    new, old = (sum(rng.random() < 0.5 for _ in range(5)) for _ in range(2))
    return (new - old) / 5


@pytest.mark.parametrize("step", [gaussian, five_episodes])
def test_equal_arms_are_rarely_told_apart(step: Callable[[random.Random], float]) -> None:
    rng = random.Random(20_260)
    difference_sd = SD * 2**0.5
    plan = power.plan(Design.CONCURRENT_ARMS, difference_sd, 0.10, remaining=STEPS)
    assert not plan.feasible
    declared = Declaration(
        Design.CONCURRENT_ARMS, opened=1, window=STEPS, margin=power.margin(plan.detectable)
    )
    found = Counter(_judge(declared, difference_sd, step, rng) for _ in range(DRAWS))
    assert (found[Verdict.HARM] + found[Verdict.HELP]) / DRAWS <= 0.055
    assert found[Verdict.HARM] > 0
    assert found[Verdict.HELP] > 0


def _judge(
    declared: Declaration,
    difference_sd: float,
    step: Callable[[random.Random], float],
    rng: random.Random,
) -> Verdict:
    """Look at harm after every step, and at the interval once, as the guard does."""
    process, differences = HarmProcess(difference_sd, declared.margin), list[float]()
    for elapsed in range(1, STEPS + 1):
        differences.append(step(rng))
        process = process.after(differences[-1])
        effect = estimate.arms(differences) if elapsed == STEPS else None
        found = verdicts.decide(declared, Evidence(elapsed, effect, harm=process.evidence))
        if found.verdict is Verdict.HARM:
            break
    return found.verdict
