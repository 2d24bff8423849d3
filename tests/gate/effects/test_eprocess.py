"""The harm process may be looked at after every step and still cries wolf rarely."""

from __future__ import annotations

import math
import random

import pytest

from gate.effects.eprocess import HARM_AT, HarmProcess

START = HarmProcess(sd=0.1, margin=0.05)


def test_a_clear_harm_is_found_at_the_fifth_step() -> None:
    process, path = START, list[float]()
    for _ in range(5):
        process = process.after(-0.2)
        path.append(process.evidence)
    assert path == pytest.approx([1.868, 3.490, 6.521, 12.18, 22.76], rel=5e-4)
    assert process.crossed_at == 5


def test_a_slight_harm_takes_twenty_four_steps() -> None:
    assert START.after_all([-0.1] * 23).crossed_at is None
    assert START.after_all([-0.1] * 24).crossed_at == 24


def test_a_loss_of_the_margin_is_evidence_against_harm() -> None:
    assert START.after(-0.05).evidence == pytest.approx(0.8825, abs=1e-4)


def test_it_starts_without_an_opinion() -> None:
    assert (START.evidence, START.harm, START.steps) == (1.0, False, 0)


def test_a_crossing_counts_even_if_the_evidence_falls_again() -> None:
    process = START.after_all([-0.2] * 5 + [0.5] * 5)
    assert process.evidence < HARM_AT
    assert process.harm
    assert process.crossed_at == 5


def test_evidence_without_bound_stays_a_number() -> None:
    assert math.isfinite(START.after_all([-1.0] * 1000).evidence)


def test_at_the_margin_fewer_than_one_in_twenty_ever_cross() -> None:
    rng = random.Random(3)
    crossed = sum(
        START.after_all(rng.gauss(-0.05, 0.1) for _ in range(100)).harm for _ in range(500)
    )
    assert 0 < crossed <= 25


@pytest.mark.parametrize(("sd", "margin"), [(0.0, 0.05), (0.1, 0.0), (math.nan, 0.05)])
def test_without_noise_or_margin_nothing_can_be_learnt(sd: float, margin: float) -> None:
    with pytest.raises(ValueError, match="noise and margin above 0"):
        HarmProcess(sd, margin)


def test_a_step_without_a_number_is_not_evidence() -> None:
    with pytest.raises(ValueError, match="leave this step out"):
        START.after(math.nan)
