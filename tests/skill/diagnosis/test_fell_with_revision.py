"""A fall is put on the revision that it began with, and on none where something else tells why."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from skill.diagnosis import detectors
from skill.diagnosis.detectors.fell_with_revision import worst_change
from skill.diagnosis.windows import Window
from tests.skill.recorded import ramp, steps, window

WELL: Mapping[str, Window] = {
    "a fall that the anchors share": window(
        steps=steps(
            40,
            revision=[0] * 36 + [1] * 4,
            success=[0.7] * 36 + [0.3] * 4,
            anchor_success=[0.7] * 36 + [0.3] * 4,
        )
    ),
    "a fall that was mended": window(
        steps=steps(
            40,
            revision=[0] * 30 + [1] * 4 + [2] * 6,
            success=[*ramp(0.7, 0.7, 30, noise=0.03), 0.2, 0.2, 0.2, 0.2, *[0.7] * 6],
        )
    ),
    "a fall that a test is looking at": window(
        steps=steps(
            40,
            revision=[0] * 36 + [1] * 4,
            success=[0.7] * 36 + [0.3] * 4,
            sides=[{}] * 36 + [{"old": {}, "new": {}}] * 4,
        )
    ),
    "a revision and ordinary noise": window(
        steps=steps(40, revision=[0] * 36 + [1] * 4, success=ramp(0.5, 0.5, 40, noise=0.1))
    ),
}


@pytest.mark.parametrize("name", WELL)
def test_nothing_is_said_of_a_run_that_is_well(name: str) -> None:
    assert [one.name for one in detectors.examine(WELL[name])] == []


def test_a_fall_is_put_on_the_revision_that_it_began_with() -> None:
    look = window(
        steps=steps(
            40,
            revision=[0] * 28 + [1] * 2 + [2] * 10,
            success=[*ramp(0.8, 0.9, 28, noise=0.03), *[0.05] * 12],
            anchor_success=[0.8] * 40,
        )
    )
    (found,) = [one for one in detectors.examine(look) if one.name == "fell_with_revision"]
    assert "before revision 1 " in found.sentence
    assert "came into force at step 29" in found.sentence


NOISY_BEFORE = [0.61, 0.57, 0.29, 0.46, 0.5, 0.54, 0.54, 0.5, 0.25, 0.75, 0.68, 0.46, 0.36, 0.79]
NOISY_SINCE = [0.25, 0.07, 0.32, 0.18, 0.21, 0.07, 0.18, 0.29, 0.11, 0.11]
"""Success of a small batch of a weak policy before its turn limit was lowered, and since."""


def noisy_run(num_since: int, later: Sequence[float] = ()) -> Window:
    since = [*NOISY_SINCE[:num_since], *later]
    count = len(NOISY_BEFORE) + len(since)
    return window(
        steps=steps(
            count,
            revision=[0] * len(NOISY_BEFORE) + [1] * len(since),
            success=[*NOISY_BEFORE, *since],
            anchor_success=[0.5] * count,
        )
    )


@pytest.mark.parametrize(("num_since", "told"), [(3, False), (5, True), (10, True)])
def test_steps_since_make_a_fall_certain_that_a_noisy_run_hides_at_first(
    num_since: int, told: bool
) -> None:
    change = worst_change(noisy_run(num_since))
    assert (change is not None) is told
    assert change is None or (change.revision, len(change.before)) == (1, 10)


def test_a_noisy_fall_that_is_being_mended_is_none() -> None:
    assert worst_change(noisy_run(10)) is not None
    assert worst_change(noisy_run(10, later=[0.5, 0.6, 0.4])) is None


def found_in(num_runs: int, fall: float, *, noise: float) -> float:
    """Return the share of simulated runs in which a tick of 24 steps since calls it a fall."""
    chance, found = random.Random(0), 0
    for _ in range(num_runs):
        before = [chance.gauss(0.5, noise) for _ in range(10)]
        since = [chance.gauss(0.5 - fall, noise) for _ in range(24)]
        for seen in range(4, 25, 4):
            look = window(
                steps=steps(
                    10 + seen, revision=[0] * 10 + [1] * seen, success=[*before, *since[:seen]]
                )
            )
            if worst_change(look) is not None:
                found += 1
                break
    return found / num_runs


def test_noisy_falls_are_mostly_found_and_noise_is_seldom_called_one() -> None:
    assert found_in(1000, 0.35, noise=0.18) >= 0.9
    assert found_in(1000, 0.0, noise=0.18) <= 0.02
