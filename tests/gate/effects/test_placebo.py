"""The placebo floor is what the same comparison shows where nothing was changed."""

from __future__ import annotations

import pytest

from gate.effects import placebo

PLACEBOS = [
    0.02, -0.03, 0.05, -0.01, 0.04, -0.06, 0.03, 0.0, -0.02, 0.01,
    0.05, -0.04, 0.02, -0.05, 0.03, -0.01, 0.06, -0.02, 0.04,
]  # fmt: skip


def test_nineteen_placebos_below_an_effect_give_one_twentieth() -> None:
    assert placebo.p_value(-0.12, PLACEBOS) == pytest.approx(0.05)
    assert placebo.floor(PLACEBOS) == 0.06


def test_a_placebo_as_large_counts_against_the_effect() -> None:
    assert placebo.p_value(0.06, PLACEBOS) == pytest.approx(3 / 20)


def test_the_floor_is_the_nineteenth_of_twenty() -> None:
    assert placebo.floor([index / 100 for index in range(1, 21)]) == 0.19


def test_the_contrast_is_slid_over_every_place_that_holds_it() -> None:
    found = placebo.contrasts([0.0, 0.0, 1.0, 1.0, 4.0], before=2, gap=1, after=1)
    assert found == (1.0, 3.5)


def test_a_history_that_holds_no_placebo_is_told() -> None:
    short = placebo.contrasts([0.5] * 5, before=5, gap=0, after=5)
    assert short == ()
    with pytest.raises(ValueError, match="shorter window or wait"):
        placebo.floor(short)
