"""Formulas of four numbers, read and evaluated without executing text, and numbers in a message.

A formula is an expression in a, b, c, d with + - * / and powers. Pure functions; what a
value is worth is not known here.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

NAMES: tuple[str, ...] = ("a", "b", "c", "d")
MAX_CHARS = 500
PLACES = 4
"""Decimals to which results are shown and numbers are compared."""

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")


class Undefined(ArithmeticError):
    """A formula has no finite value at the given numbers, as when it divides by zero."""


def evaluate(rule: str, numbers: Sequence[float]) -> float:
    """Return the value of a formula.

    Args:
        rule: The formula.
        numbers: Values of a, b, c and d.

    Raises:
        ValueError: if the text is no formula of that kind.
        Undefined: if it has no finite value there.
    """
    values = dict(zip(NAMES, map(float, numbers), strict=True))
    try:
        result = _value(parse(rule), values)
    except (ZeroDivisionError, OverflowError):
        raise Undefined(f"{rule!r} has no value at {tuple(numbers)}") from None
    if not math.isfinite(result):
        raise Undefined(f"{rule!r} is not finite at {tuple(numbers)}")
    return result


@lru_cache(maxsize=4096)
def parse(rule: str) -> ast.expr:
    """Return the tree of a formula, checked to hold nothing but arithmetic.

    Raises:
        ValueError: if the text is no formula.
    """
    if len(rule) > MAX_CHARS:
        raise ValueError(f"a rule of {len(rule)} characters; at most {MAX_CHARS} are read")
    try:
        tree = ast.parse(rule.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, MemoryError, RecursionError):
        raise ValueError(f"{rule!r} is no formula; write one like (a + b) * c - d") from None
    for node in ast.walk(tree):
        _check(node, rule)
    return tree


def numbers_in(text: str) -> list[float]:
    """Return every number of a text in order; `1e3` is one number, and so is `-2.5`."""
    return [float(found) for found in _NUMBER.findall(text)]


def same(left: float, right: float) -> bool:
    """True when two numbers are equal after rounding to four decimals."""
    return round(left, PLACES) == round(right, PLACES)


def _check(node: ast.AST, rule: str) -> None:
    match node:
        case ast.Name(id=name) if name in NAMES:
            return
        case ast.Constant(value=value) if type(value) in (int, float):
            return
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow()):
            return
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            return
        case ast.operator() | ast.unaryop() | ast.expr_context():
            return
    raise ValueError(f"{rule!r} holds more than a, b, c, d, numbers, + - * / and powers")


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Name(id=name):
            return values[name]
        case ast.Constant(value=value):
            return float(value)  # pyright: ignore[reportArgumentType] - a number, as checked
        case ast.UnaryOp(op=sign, operand=operand):
            inner = _value(operand, values)
            return -inner if isinstance(sign, ast.USub) else inner
        case ast.BinOp(left=left, op=operator, right=right):
            return _combine(operator, _value(left, values), _value(right, values))
    raise AssertionError(f"{ast.dump(node)} was not checked")


def _combine(operator: ast.operator, left: float, right: float) -> float:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
    # Floats throughout, so that a tower of powers overflows at once instead of filling memory.
    power = left**right
    if isinstance(power, complex):
        raise OverflowError("a root of a negative number")
    return power
