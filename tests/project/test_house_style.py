"""The code stays within the house's budgets: sizes, names, and a word on everything public.

An exception is listed by name with its reason, and an exception that is no longer needed fails.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

import pytest

from tests.project import tree

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
DOCSTRING_SHARE = (0.15, 0.22)
"""Docstrings of modules, classes and functions, as a share of all lines of the three packages."""
REMARK_SHARE = (0.02, 0.08)
"""Comments, and the sentences under fields that stand where other code has comments."""
FORBIDDEN_WORDS = {
    "utils", "util", "helpers", "helper", "common", "misc", "manager", "managers",
    "handler", "handlers", "processor", "stuff", "base",
}  # fmt: skip

LONG_FILES: dict[str, str] = {}
"""Path -> why it may be longer."""
LONG_FUNCTIONS: dict[str, str] = {}
"""`path:function` -> why it may be longer."""

PACKAGES = tree.sources(*tree.PACKAGES)
EVERYTHING = tree.sources(*tree.PACKAGES, "tests")


def test_no_file_is_longer_than_one_concept() -> None:
    long = {str(source.path) for source in EVERYTHING if source.num_lines > MAX_FILE_LINES}
    assert sorted(long - LONG_FILES.keys()) == [], f"over {MAX_FILE_LINES} lines: split by concept"
    assert sorted(LONG_FILES.keys() - long) == [], "no longer long: remove from LONG_FILES"


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{source.path}:{name}"
        for source in EVERYTHING
        for name, node in tree.functions(source.tree)
        if _length(node) > MAX_FUNCTION_LINES
    }
    assert sorted(long - LONG_FUNCTIONS.keys()) == [], (
        f"over {MAX_FUNCTION_LINES} lines: a noun is missing"
    )
    assert sorted(LONG_FUNCTIONS.keys() - long) == [], "no longer long: remove from LONG_FUNCTIONS"


def test_every_exception_states_its_reason() -> None:
    for entry, reason in (LONG_FILES | LONG_FUNCTIONS).items():
        assert len(reason.split()) >= 5, f"{entry}: say in a sentence why it may be longer"


def test_every_file_is_named_by_its_concept() -> None:
    vague = [
        str(source.path)
        for source in EVERYTHING
        if FORBIDDEN_WORDS & set(source.path.stem.lower().split("_"))
    ]
    assert vague == [], "name the noun of the glossary that the file is about"


def test_every_module_opens_with_its_promise() -> None:
    silent = [
        str(source.path)
        for source in EVERYTHING
        if source.text.strip() and not ast.get_docstring(source.tree)
    ]
    assert silent == []


def test_every_public_name_is_documented() -> None:
    silent = [
        f"{source.path}:{node.lineno} {name}"
        for source in PACKAGES
        for name, node in _public(source.tree)
        if not ast.get_docstring(node)
    ]
    assert silent == []


@pytest.mark.parametrize("package", tree.PACKAGES)
def test_no_docstring_repeats_its_name(package: str) -> None:
    empty = [
        f"{source.path}:{node.lineno} {name}"
        for source in tree.sources(package)
        for name, node in _public(source.tree)
        if (words := ast.get_docstring(node)) and _words(words) <= _words(name.replace("_", " "))
    ]
    assert empty == [], "a docstring that repeats the name says nothing"


def test_docstrings_and_remarks_are_neither_scarce_nor_a_second_program() -> None:
    total = sum(source.num_lines for source in PACKAGES)
    docstrings = sum(_docstring_lines(source.tree) for source in PACKAGES)
    sentences = sum(_standing_string_lines(source.tree) for source in PACKAGES) - docstrings
    remarks = sentences + sum(_comment_lines(source.text) for source in PACKAGES)
    low, high = DOCSTRING_SHARE
    assert low <= docstrings / total <= high, f"docstrings: {docstrings / total:.1%}"
    low, high = REMARK_SHARE
    assert low <= remarks / total <= high, f"remarks: {remarks / total:.1%}"


def _length(node: ast.FunctionDef) -> int:
    """Lines of code of a function, its docstring not counted."""
    total = (node.end_lineno or node.lineno) - node.lineno + 1
    return total - (_span(node.body[0]) if ast.get_docstring(node) else 0)


def _public(
    node: ast.Module | ast.ClassDef,
) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Yield public classes and functions of a module, and public methods of public classes."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and not child.name.startswith("_"):
            yield child.name, child
            if isinstance(child, ast.ClassDef):
                yield from _public(child)


def _words(text: str) -> set[str]:
    return {word.strip(".,:;`").lower() for word in text.split()} - {"the", "a", "an", "of", ""}


def _span(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _docstring_lines(module: ast.Module) -> int:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return sum(
        _span(node.body[0])
        for node in ast.walk(module)
        if isinstance(node, documented) and ast.get_docstring(node)
    )


def _standing_string_lines(module: ast.Module) -> int:
    """Lines of strings that stand alone: docstrings, and the sentence under a field."""
    return sum(
        _span(node)
        for node in ast.walk(module)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _comment_lines(text: str) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return len({token.start[0] for token in tokens if token.type == tokenize.COMMENT})
