"""JSON values are compared by meaning, and differences are listed place by place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.worlds.tau2.values import ABSENT, Change, changes, clone, same

PLAIN = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=4)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def test_a_difference_is_told_by_pointer_old_and_new() -> None:
    old = {"orders": {"#W1": {"status": "pending", "items": [1, 2]}}}
    new = {"orders": {"#W1": {"status": "cancelled", "items": [1, 2, 3]}, "a/b": 1}}
    assert list(changes(old, new)) == [
        Change("/orders/#W1/items/2", ABSENT, 3),
        Change("/orders/#W1/status", "pending", "cancelled"),
        Change("/orders/a~1b", ABSENT, 1),
    ]


@pytest.mark.parametrize(
    ("left", "right"),
    [(1, 1.0), (0.1 + 0.2, 0.3), ({"a": [2]}, {"a": [2.0]}), (94.55, 94.54999999999995)],
)
def test_tau2_bench_397_a_number_is_the_same_written_whole_or_rounded(
    left: Any, right: Any
) -> None:
    assert same(left, right)


@pytest.mark.parametrize(
    ("left", "right"), [(1, True), (0, False), (None, ABSENT), ("1", 1), ([], {}), (1.0, 1.001)]
)
def test_what_only_looks_alike_differs(left: Any, right: Any) -> None:
    assert not same(left, right)
    assert not same([left], [right])


@given(VALUES, VALUES)
def test_no_difference_means_equal_json(left: Any, right: Any) -> None:
    texts = [json.dumps(value, sort_keys=True) for value in (left, right)]
    assert same(left, right) == (texts[0] == texts[1])


@given(VALUES)
def test_a_copy_is_equal_and_shares_no_container(value: Any) -> None:
    copy = clone(value)
    assert copy == value
    assert not {id(one) for one in _containers(copy)} & {id(one) for one in _containers(value)}


def _containers(value: Any) -> list[Any]:
    if not isinstance(value, dict | list):
        return []
    below = value.values() if isinstance(value, dict) else value
    return [value, *(one for entry in below for one in _containers(entry))]
