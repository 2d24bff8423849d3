"""Hidden facts of a real task: what its reference code decides and its description may not say.

Real data has only the code, so a fact is read off the syntax tree and put in plain words: one
fact for each constant, branch, early way out and shape of result, a few of each. Deterministic;
nothing is run. A fact's secret is its piece of code, which no reply quotes at length.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from trainer.task import Fact

MAX_FACTS = 8
"""Facts of one task; the expert has nine turns to ask."""
MAX_WORDS_CHARS = 36
"""Longest expression that a statement repeats."""
MAX_QUOTE_CHARS = 39
"""Longest piece of the reference that a statement may hold; one more would be a leak."""

_COMPARISONS = {
    ast.Eq: "equals", ast.NotEq: "differs from", ast.Lt: "is below", ast.LtE: "is at most",
    ast.Gt: "is above", ast.GtE: "is at least", ast.In: "is one of", ast.NotIn: "is none of",
    ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_SHAPES = {
    ast.Dict: "a dictionary", ast.DictComp: "a dictionary", ast.List: "a list",
    ast.ListComp: "a list", ast.Tuple: "several values together", ast.Set: "a set",
    ast.JoinedStr: "a text", ast.Compare: "yes or no", ast.BoolOp: "yes or no",
    ast.BinOp: "a calculated value", ast.Call: "the outcome of a calculation",
    ast.Name: "what was worked out before", ast.Constant: "a fixed value",
}  # fmt: skip
_NAME_PART = re.compile(r"[A-Za-z]+|\d+")


def facts(reference: str) -> tuple[Fact, ...]:
    """Return the hidden facts of a reference, at most `MAX_FACTS`.

    A source that cannot be parsed has none.
    """
    try:
        tree = ast.parse(reference)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    function = next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        return ()
    found: dict[str, Fact] = {}
    for kind, text, statement, cue in _secrets(function):
        if statement in found or _quotes(statement, reference):
            continue
        if len(found) < MAX_FACTS:
            cues = (cue, f"{kind.replace('_', ' ')} {cue}")
            found[statement] = Fact(f"F{len(found) + 1}", kind, text, statement, cues)
    return tuple(found.values())


def _quotes(statement: str, reference: str) -> bool:
    """Return whether a statement holds a long piece of the reference, spaces and case apart."""
    said, code = (" ".join(text.lower().split()) for text in (statement, reference))
    starts = range(len(said) - MAX_QUOTE_CHARS)
    return any(said[at : at + MAX_QUOTE_CHARS + 1] in code for at in starts)


def _secrets(function: ast.FunctionDef) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, secret, statement and cue, the rarest kinds first."""
    names = [argument.arg for argument in function.args.args]
    if names:
        listed = ", then ".join(_words(name) for name in names)
        yield (
            "signature",
            f"def {function.name}({', '.join(names)})",
            f"It is given {listed}.",
            ("inputs arguments parameters"),
        )
    for node in ast.walk(function):
        if isinstance(node, ast.If) and (condition := _condition(node.test)):
            early = isinstance(node.body[-1], ast.Return | ast.Raise)
            kind = "edge_case" if early else "branch"
            statement = f"If {condition}, {_effect(node.body[0])}."
            yield kind, f"if {ast.unparse(node.test)}:", statement, condition
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and any(isinstance(part, ast.Constant) for part in ast.walk(node.value))
            and (value := _short(node.value))
        ):
            name = _words(node.targets[0].id)
            yield "constant", ast.unparse(node), f"For {name} I take {value}.", name
    last = function.body[-1]
    if isinstance(last, ast.Return) and last.value is not None:
        shape = _SHAPES.get(type(last.value), "one value")
        secret = f"return {ast.unparse(last.value)}"
        yield "return_shape", secret, f"In the end I want {shape}.", "result output shape"


def _effect(first: ast.stmt) -> str:
    """Return in words what the first line of a branch does."""
    if isinstance(first, ast.Raise):
        return "that is an error"
    if isinstance(first, ast.Return) and first.value is not None and (value := _short(first.value)):
        return f"the result is {value}"
    if isinstance(first, ast.Assign | ast.AugAssign) and (value := _short(first.value)):
        target = first.target if isinstance(first, ast.AugAssign) else first.targets[0]
        verb = "changes by" if isinstance(first, ast.AugAssign) else "is"
        return f"{_words(ast.unparse(target))} {verb} {value}"
    return "that is a case of its own"


def _short(value: ast.expr) -> str:
    """Return an expression as it is written, or nothing when it is too long to say."""
    written = ast.unparse(value)
    return written if len(written) <= MAX_WORDS_CHARS and "\n" not in written else ""


def _condition(test: ast.expr) -> str:
    """Return a condition in words, or nothing when it is too long to say."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        words = f"there is no {_words(ast.unparse(test.operand))}"
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = _words(ast.unparse(test.left)), ast.unparse(test.comparators[0])
        words = f"{left} {_COMPARISONS[type(test.ops[0])]} {right}"
    else:
        words = _words(ast.unparse(test))
    return words if len(words) <= 2 * MAX_WORDS_CHARS else ""


def _words(code: str) -> str:
    return " ".join(_NAME_PART.findall(code)).lower() or code
