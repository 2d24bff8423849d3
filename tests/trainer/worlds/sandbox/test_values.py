"""Values come out of a sandbox as they went in, or not at all."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict, defaultdict
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.worlds.sandbox import values

_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    | st.binary() | st.complex_numbers(allow_nan=False) | st.dates() | st.fractions()
    | st.decimals(allow_nan=False) | st.timedeltas() | st.datetimes()
)  # fmt: skip
_KEYS = st.text() | st.integers() | st.booleans() | st.none() | st.tuples(st.integers())
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_KEYS, inner, max_size=4)
        | st.tuples(inner, inner)
        | st.sets(_KEYS, max_size=4)
        | st.frozensets(_KEYS, max_size=4)
    ),
    max_leaves=12,
)


@given(_VALUES)
def test_a_value_is_rebuilt_with_its_types(value: Any) -> None:
    rebuilt = values.decode(values.encode(value))
    assert rebuilt == value
    assert repr(rebuilt) == repr(value) or isinstance(value, set | frozenset | dict | list | tuple)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_does_not_know_travel(number: float) -> None:
    rebuilt = values.decode(values.encode([number]))[0]
    assert repr(rebuilt) == repr(number)


class Colour(IntEnum):
    """A subclass of int."""

    RED = 1


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (OrderedDict(a=1), {"a": 1}),
        (Counter("aa"), {"a": 2}),
        (defaultdict(list, x=[1]), {"x": [1]}),
        (Colour.RED, 1),
        (datetime(2026, 1, 2, 3), datetime(2026, 1, 2, 3)),
        (date(2026, 1, 2), date(2026, 1, 2)),
        (timedelta(days=-1, microseconds=3), timedelta(days=-1, microseconds=3)),
        (Decimal("1.10"), Decimal("1.10")),
        (Fraction(-3, 7), Fraction(-3, 7)),
        (1 << 5000, 1 << 5000),
    ],
)
def test_subclasses_become_the_types_they_extend(value: Any, plain: Any) -> None:
    rebuilt = values.decode(values.encode(value))
    assert rebuilt == plain
    assert type(rebuilt) is type(plain)


def test_a_value_of_another_type_equals_nothing() -> None:
    rebuilt = values.decode(values.encode(iter([])))
    assert rebuilt.type_name == "list_iterator"
    assert rebuilt != rebuilt


def test_depth_and_size_are_bounded() -> None:
    nested: list[Any] = []
    for _ in range(200):
        nested = [nested]
    with pytest.raises(values.ValueRefusedError, match="nested deeper than 50"):
        values.encode(nested)
    with pytest.raises(values.ValueRefusedError, match="bits"):
        values.encode(1 << (1 << 20))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 100_000,
        "[" * 300 + "]" * 300,
        "NaN",
        '{"x": 1}',
        '{"i": 1, "f": 2}',
        '{"i": "zz"}',
        '{"f": "1e5"}',
        '{"d": [[[], 1]]}',
        '{"d": 5}',
        '{"s": [[1]]}',
        '{"R": [1, 0]}',
        '{"b": "x"}',
        '{"D": "one"}',
        '{"E": [9999999999999, 0, 0]}',
        '{"c": [[], 1]}',
        "1" * 5000,
    ],
)
def test_what_encode_would_not_write_is_refused(text: str) -> None:
    with pytest.raises(values.ValueRefusedError):
        values.decode(text)


def test_a_text_is_json() -> None:
    assert json.loads(values.encode({1: (2, 3.0)})) == {"d": [[1, {"t": [2, 3.0]}]]}
