"""A value out of its knob's range is refused, bounds included, and never clamped."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gate.contract import knobs
from gate.contract.knobs import KnobChange
from gate.rules import in_range
from gate.rules.change_set import ChangeSet


def limits(path: str, value: Any) -> list[Any]:
    state = knobs.defaults()
    changes = [KnobChange(path, None, value)]
    return [finding.limit for finding in in_range.check(ChangeSet(state, state, changes))]


@pytest.mark.parametrize(("value", "limit"), [(2, 3), (61, 60)])
def test_one_step_over_a_bound_is_refused_with_that_bound(value: int, limit: int) -> None:
    assert limits("environment.max_steps", value) == [limit]


@pytest.mark.parametrize("value", [3, 60])
def test_a_bound_itself_is_in_range(value: int) -> None:
    assert limits("environment.max_steps", value) == []


def test_the_least_float_over_a_bound_is_refused() -> None:
    assert limits("agent.entropy_coeff", math.nextafter(0.05, 1)) == [0.05]
    assert limits("agent.entropy_coeff", 0.05) == []


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_out_of_every_range(value: float) -> None:
    assert limits("user.worlds.travel.match_threshold", value) != []


@pytest.mark.parametrize("value", [True, "plain", None, [1], knobs.ABSENT])
def test_what_is_not_a_number_has_no_range(value: Any) -> None:
    assert limits("user.match_threshold", value) == []


def test_a_knob_without_bounds_and_an_unknown_one_have_no_range() -> None:
    assert limits("user.persona", 3) == []
    assert limits("user.unknown", 3) == []
