"""Randomisation tests are exact: they count the assignments that chance could have drawn."""

from __future__ import annotations

import random
import statistics

import pytest

from gate.effects import layouts, permutation
from gate.effects.layouts import Layout

HIGH = [0.50, 0.55, 0.45, 0.52, 0.48]
LOW = [0.30, 0.33, 0.28, 0.35, 0.31]
RNG = random.Random(0)


def test_two_sets_without_overlap_are_one_division_of_252() -> None:
    assert permutation.two_samples(HIGH, LOW, RNG, two_sided=False) == pytest.approx(1 / 252)
    assert permutation.two_samples(HIGH, LOW, RNG) == pytest.approx(2 / 252)
    assert permutation.two_samples(LOW, HIGH, RNG, two_sided=False) == 1.0


@pytest.mark.parametrize(("size", "smallest"), [(2, 0.1667), (3, 0.05), (4, 0.0143), (5, 0.00397)])
def test_the_smallest_p_value_is_one_over_the_divisions(size: int, smallest: float) -> None:
    found = permutation.two_samples([1.0] * size, [0.0] * size, RNG, two_sided=False)
    assert found == pytest.approx(smallest, abs=5e-5)


@pytest.mark.parametrize(("steps", "smallest"), [(5, 0.0625), (6, 0.03125)])
def test_differences_all_of_one_sign_are_two_of_all_flips(steps: int, smallest: float) -> None:
    differences = [0.1 + 0.01 * step for step in range(steps)]
    assert permutation.sign_flips(differences, RNG) == smallest
    assert permutation.sign_flips([-d for d in differences], RNG) == smallest


def test_equal_differences_tie_with_all_that_equal_them() -> None:
    assert permutation.sign_flips([0.1, -0.1], RNG) == 1.0
    assert permutation.sign_flips([0.1, 0.2, 0.3, 0.0], RNG) == pytest.approx(4 / 16)


def test_twenty_steps_hold_21_layouts_so_that_p_is_at_least_one_of_them() -> None:
    layout = Layout(7, 13)
    values = [0.9 if 7 <= step < 13 else 0.1 for step in range(20)]
    found = permutation.switches(values, layout, shortest=5, washout=0)
    assert found == pytest.approx(1 / 21)
    assert round(found, 4) == 0.0476


def test_under_no_effect_the_p_value_of_switches_is_uniform() -> None:
    rng = random.Random(4)
    small = 0
    for _ in range(400):
        values = [rng.gauss(0.5, 0.1) for _ in range(20)]
        layout = layouts.draw(20, 5, rng)
        small += permutation.switches(values, layout, shortest=5, washout=0) <= 0.1
    assert small / 400 == pytest.approx(2 / 21, abs=0.05)


def test_many_assignments_are_drawn_reproducibly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "DRAWS", 999)
    differences = [0.05 + 0.1 * (-1) ** step for step in range(20)]
    drawn = permutation.sign_flips(differences, random.Random(1))
    assert drawn == permutation.sign_flips(differences, random.Random(1))
    monkeypatch.setattr(permutation, "MOST_ENUMERATED", 1 << 20)
    assert drawn == pytest.approx(permutation.sign_flips(differences, RNG), abs=0.01)


def test_drawn_divisions_agree_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    new, old = [0.5, 0.4, 0.6, 0.5], [0.4, 0.5, 0.3, 0.4]
    exact = permutation.two_samples(new, old, RNG)
    monkeypatch.setattr(permutation, "MOST_ENUMERATED", 1)
    drawn = [permutation.two_samples(new, old, random.Random(seed)) for seed in range(2)]
    assert statistics.fmean(drawn) == pytest.approx(exact, abs=0.02)


def test_a_drawn_p_value_is_never_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "DRAWS", 99)
    assert permutation.sign_flips([1.0] * 40, random.Random(0)) == 0.01
