"""The repository as the project tests see it: which files there are, and what Python they hold.

Only files that belong to a checkout count: those under version control and those that could be.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = ("trainer", "gate", "skill")


@cache
def files() -> tuple[Path, ...]:
    """Return every file of the checkout that git does not ignore, relative to its root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    paths = (Path(name) for name in listed.split("\0") if name)
    return tuple(sorted(path for path in paths if (CHECKOUT / path).is_file()))


@dataclass(frozen=True)
class Source:
    """One Python file, parsed."""

    path: Path
    """Relative to the checkout."""
    text: str
    tree: ast.Module

    @property
    def num_lines(self) -> int:
        """How many lines it has."""
        return len(self.text.splitlines())


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Return the parsed Python files below some top-level folders."""
    found: list[Source] = []
    for path in files():
        if path.suffix == ".py" and path.parts[0] in folders:
            text = (CHECKOUT / path).read_text("utf-8")
            found.append(Source(path, text, ast.parse(text, filename=str(path))))
    return tuple(found)


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield every function below a node, nested ones and methods too, with its dotted name."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{node.name}"
            if not isinstance(node, ast.ClassDef):
                yield name, node  # pyright: ignore[reportReturnType]
            yield from functions(node, f"{name}.")
        else:
            yield from functions(node, prefix)
