"""A reversal switches at steps that chance drew from all that would do."""

from __future__ import annotations

import random
import statistics

import pytest

from gate.effects import layouts
from gate.effects.layouts import Layout


@pytest.mark.parametrize(("steps", "shortest", "count"), [(20, 5, 21), (24, 5, 55), (30, 6, 91)])
def test_there_are_as_many_layouts_as_combinatorics_says(
    steps: int, shortest: int, count: int
) -> None:
    found = layouts.admissible(steps, shortest)
    assert len(found) == len(set(found)) == count
    for layout in found:
        phases = (layout.forth, layout.back - layout.forth, steps - layout.back)
        assert min(phases) >= shortest


def test_a_test_too_short_for_three_phases_says_how_long_it_must_be() -> None:
    with pytest.raises(ValueError, match="at least 15 steps"):
        layouts.admissible(14, 5)


def test_the_draw_is_reproducible_and_uniform() -> None:
    assert layouts.draw(20, 5, random.Random(1)) == layouts.draw(20, 5, random.Random(1))
    rng = random.Random(0)
    drawn = [layouts.draw(16, 5, rng) for _ in range(900)]
    assert {layout: drawn.count(layout) > 240 for layout in drawn} == {
        Layout(5, 10): True,
        Layout(5, 11): True,
        Layout(6, 11): True,
    }


def test_both_old_phases_count_equally_and_the_washout_not_at_all() -> None:
    first, new, last = layouts.phases(list(range(20)), Layout(7, 14), shortest=6, washout=1)
    assert list(first) == [2, 3, 4, 5, 6]
    assert list(new) == [8, 9, 10, 11, 12, 13]
    assert list(last) == [15, 16, 17, 18, 19]


@pytest.mark.parametrize("layout", layouts.admissible(24, 6))
def test_a_linear_trend_cancels_wherever_the_switches_fell(layout: Layout) -> None:
    rising = [0.3 + 0.01 * step for step in range(24)]
    assert layouts.contrast(rising, layout, shortest=6, washout=1) == pytest.approx(0, abs=1e-12)


def test_the_contrast_is_new_minus_the_old_phases() -> None:
    values = [0.2] * 6 + [0.0] + [0.9] * 5 + [0.0] + [0.4] * 5
    found = layouts.contrast(values, Layout(6, 12), shortest=6, washout=1)
    assert found == pytest.approx(0.9 - statistics.fmean([0.2, 0.4]))
