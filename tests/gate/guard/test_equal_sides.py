"""Two equal sides are told apart no more often than the level allows, in 10,000 tests.

The test is forced open: ten steps at so much noise are underpowered by design.
"""

from __future__ import annotations

import random
from collections import Counter

from gate.contract.experiments import Experiment
from gate.contract.sides import Side
from gate.effects import power
from gate.effects.designs import Design
from gate.effects.series import Point, Share
from gate.effects.tripwires import Vitals
from gate.guard import judging

TESTS, STEPS, SD = 10_000, 10, 0.228
ANCHORS = Share(0.5, 4)
"""They never change, so that they stop no false help."""
BEFORE = 20
"""Steps before the test, from which the anchors are known."""


def test_equal_sides_are_rarely_told_apart() -> None:
    rng = random.Random(20_261)
    difference_sd = SD * 2**0.5
    plan = power.plan(Design.CONCURRENT_ARMS, difference_sd, 0.10, remaining=STEPS)
    assert not plan.feasible
    experiment = Experiment(
        number=1,
        proposal=None,
        revision=1,
        old_revision=0,
        opened=BEFORE + 1,
        judged=True,
        design=Design.CONCURRENT_ARMS,
        window=STEPS,
        noise_sd=difference_sd,
        margin=power.margin(plan.detectable),
        ease="harder",
    )
    before = [_quiet(step) for step in range(1, BEFORE + 1)]
    found: Counter[str] = Counter()
    for _ in range(TESTS):
        points = [*before, *(_point(BEFORE + step, rng) for step in range(1, STEPS + 1))]
        judgement = judging.judge(experiment, points, last_step=BEFORE + STEPS)
        found[judgement.verdict] += 1
    assert (found["harm"] + found["help"]) / TESTS <= 0.055
    assert found["harm"] > 0
    assert found["help"] > 0


def _point(step: int, rng: random.Random) -> Point:
    sides = {side: {"symbolic": Share(rng.gauss(0.5, SD), 5)} for side in (Side.OLD, Side.NEW)}
    return Point(step, 1, {}, sides, ANCHORS, Vitals(step), {})


def _quiet(step: int) -> Point:
    return Point(step, 0, {}, {}, ANCHORS, Vitals(step), {})
