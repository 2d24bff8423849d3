"""The calculator reads sums and products, refuses everything else, and executes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.generic_tools import calculate
from trainer.worlds.tau2.toolkit import ToolError

NUMBERS = st.integers(1, 999).map(lambda number: (str(number), float(number)))
SIGNS = st.sampled_from("+-*")


def joined(parts: tuple[tuple[str, float], str, tuple[str, float]]) -> tuple[str, float]:
    """Return an expression of two others, and its value."""
    (left, one), sign, (right, other) = parts
    value = {"+": one + other, "-": one - other, "*": one * other}[sign]
    return f"({left} {sign} {right})", value


EXPRESSIONS = st.recursive(
    NUMBERS, lambda inner: st.tuples(inner, SIGNS, inner).map(joined), max_leaves=5
)


def value(expression: str) -> str:
    return calculate.run(Database({}), {"expression": expression})


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("2 + 3 * 4", "14.0"), ("(2 + 3) * 4", "20.0"), ("10 / 4", "2.5"), ("1/3", "0.33"),
        ("-5 + 2", "-3.0"), ("2 - -3", "5.0"), (" .5 * 4. ", "2.0"), ("100 - 20 - 30", "50.0"),
        ("8276.234", "8276.23"),
    ],
)  # fmt: skip
def test_numbers_are_reckoned_to_two_decimals(expression: str, expected: str) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "", " ", "2 +", "(2", "2)", "* 2", "2 3", "2 ** 3", "1 / 0", "import os", "9.9.9 + x",
        "(" * 80 + "1" + ")" * 80, "9" * 1001, "-" * 200 + "1", "9" * 400 + " * 1",
    ],
)  # fmt: skip
def test_everything_else_is_refused(expression: str) -> None:
    with pytest.raises(ToolError):
        value(expression)


@given(EXPRESSIONS)
def test_an_expression_in_parentheses_has_the_value_of_its_parts(
    expression: tuple[str, float],
) -> None:
    text, expected = expression
    assert float(value(text)) == pytest.approx(expected, abs=0.01)
