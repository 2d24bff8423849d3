"""Tools that several domains have: a calculator, and the hand-over to a person.

The calculator reads sums and products and nothing else; no text is ever executed.
"""

from __future__ import annotations

import math
import re

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError, generic

MAX_EXPRESSION_CHARS = 1_000
_MAX_DEPTH = 50
_TOKEN = re.compile(r"\s*(\d+\.?\d*|\.\d+|[-+*/()])")


@generic
def transfer_to_human_agents(db: Database, summary: str) -> str:
    """Hand the user over to a human agent, with a summary of the matter.

    Only when the user asks for what no tool and no rule of the policy can give.
    """
    return "Transfer successful"


@generic
def calculate(db: Database, expression: str) -> str:
    """Return the value of an expression of numbers, + - * / and parentheses, to two decimals."""
    value = _Reader(_tokens(expression)).value()
    return str(round(float(value), 2))


def _tokens(expression: str) -> list[str]:
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise ToolError(f"the expression is longer than {MAX_EXPRESSION_CHARS} characters")
    tokens, at, text = [], 0, expression.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ToolError("Invalid characters in expression")
        tokens.append(match.group(1))
        at = match.end()
    return tokens


class _Reader:
    """Reads tokens from left to right; products bind closer than sums."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens[::-1]
        self._depth = 0

    def value(self) -> float:
        """Return the value of all tokens, or refuse."""
        value = self._sum()
        if self._tokens or not math.isfinite(value):
            raise ToolError("the expression has no value; write numbers, + - * / and parentheses")
        return value

    def _sum(self) -> float:
        value = self._product()
        while self._next() in ("+", "-"):
            sign = 1 if self._tokens.pop() == "+" else -1
            value += sign * self._product()
        return value

    def _product(self) -> float:
        value = self._factor()
        while self._next() in ("*", "/"):
            if self._tokens.pop() == "*":
                value *= self._factor()
            else:
                divisor = self._factor()
                if divisor == 0:
                    raise ToolError("division by zero")
                value /= divisor
        return value

    def _factor(self) -> float:
        self._depth += 1
        token = self._tokens.pop() if self._tokens else ""
        if self._depth > _MAX_DEPTH or token in ("", ")", "*", "/"):
            raise ToolError("the expression has no value; write numbers, + - * / and parentheses")
        if token in ("+", "-"):
            value = self._factor() * (1 if token == "+" else -1)
        elif token == "(":
            value = self._sum()
            if self._next() != ")":
                raise ToolError("a parenthesis is open")
            self._tokens.pop()
        else:
            value = float(token)
        self._depth -= 1
        return value

    def _next(self) -> str:
        return self._tokens[-1] if self._tokens else ""
