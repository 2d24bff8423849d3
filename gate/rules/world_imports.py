"""Candidate code imports what computes, what a world speaks in, and files of its own world.

What the same file imports in force it may go on importing. The code is read, never run.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Finding, Refused
from gate.rules import world_files
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="Candidate code imports modules of the standard library that only compute, the leaf "
    "nouns of the trainer, what all worlds share, files of its own world that are open to edits, "
    "and what the same file imports in force.",
    answers="OpenEnv PR#1200: an agent reaches the file that holds its reward; "
    "PrimeIntellect-ai/prime-rl#3140: a tool that ends its process hangs the trainer.",
    by_hand="silent",
)

COMPUTING = frozenset(
    "__future__ abc ast bisect collections collections.abc copy dataclasses datetime decimal "
    "difflib enum fractions functools hashlib heapq itertools json math numbers operator random re "
    "statistics string textwrap typing unicodedata".split()
)
"""Modules of the standard library that compute and reach nothing outside the process."""

NOUNS = frozenset(
    "trainer.episode trainer.message trainer.question trainer.seeds trainer.task "
    "trainer.worlds.seam".split()
)
"""Modules of the trainer that a world speaks in."""

SHARED = frozenset(
    "trainer.worlds.disclosure trainer.worlds.prompt_style trainer.worlds.refusals "
    "trainer.worlds.single_use".split()
)
"""Modules of the trainer that hold what all worlds do alike; they use nouns and compute."""

_NAMESAKES = frozenset({"ast.operator", "datetime.time"})
"""Classes that are called as a module is."""

_OUTSIDE = "Do without it; a world computes, and speaks through its results."
_INSIDE = "Import files of this world that are open to edits, as `from . import wording`."


class _Import(NamedTuple):
    """One name that a file imports."""

    module: str
    """As written, with its leading points."""
    name: str
    """What is imported from the module; empty for the module itself."""
    line: int
    column: int

    @property
    def whole(self) -> str:
        """Module and name as one path."""
        return f"{self.module}{'' if self.module.endswith('.') else '.'}{self.name}"


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every import that leads out of a world."""
    for change in change_set.worlds:
        own = _own(change)
        for path, new in change.edits.items():
            if not path.endswith(".py"):
                continue
            known = _known(change.before.get(path, b""))
            for one in imports(new):
                allowed = _is_own(one, own) if one.module.startswith(".") else _is_outer(one, known)
                if not allowed:
                    yield change_set.file_finding(
                        "world-imports",
                        change.place(path),
                        f"{path} of {change.world} imports {one.whole.removesuffix('.')}.",
                        _INSIDE if one.module.startswith(".") else _OUTSIDE,
                        place=(one.line, one.column),
                        value=one.whole,
                    )


def imports(content: bytes) -> list[_Import]:
    """Return what a file of Python imports; nothing if it is none."""
    try:
        module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[_Import] = []
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            place = node.lineno, node.col_offset + 1
            found += [_Import(alias.name, "", *place) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            place = node.lineno, node.col_offset + 1
            stem = "." * node.level + (node.module or "")
            found += [_Import(stem, alias.name, *place) for alias in node.names]
    return found


def is_hidden(module: str, name: str) -> bool:
    """Return whether a name in a module is another module, which that one merely imports."""
    whole = f"{module}.{name}"
    itself = name == module.rpartition(".")[2] or whole in COMPUTING | _NAMESAKES
    return name in sys.stdlib_module_names and not itself


def reached(start: str, contents: Mapping[str, bytes]) -> frozenset[str]:
    """Return the files of a world that one of them uses, itself included, by their paths."""
    found: set[str] = set()
    todo = {start}
    while todo:
        path = todo.pop()
        found.add(path)
        stems = {_stem(one) for one in imports(contents.get(path, b"")) if one.module[:1] == "."}
        todo |= {f"{stem}.py" for stem in stems if f"{stem}.py" in contents} - found
    return frozenset(found)


def _known(content: bytes) -> frozenset[str]:
    """Return the outer modules that a file in force imports, each name of them included."""
    found = imports(content)
    return frozenset({one.module for one in found} | {one.whole for one in found})


def _is_outer(one: _Import, known: Collection[str]) -> bool:
    allowed = COMPUTING | NOUNS | SHARED | frozenset(known)
    if not one.name:
        return one.module in allowed
    if one.name == "*":
        return False
    return one.whole in allowed or (one.module in allowed and not is_hidden(one.module, one.name))


def _own(change: WorldChange) -> frozenset[str]:
    """Return the modules of a world that its code may use: editable, or used by editable ones."""
    try:
        declaration = world_files.declared(change)
    except Refused:
        return frozenset()
    editable = {path for path in change.after if declaration.may_edit(path)}
    used = {
        _stem(one)
        for path in editable & change.before.keys()
        for one in imports(change.before[path])
        if one.module.startswith(".")
    }
    return frozenset(used | {path.removesuffix(".py") for path in editable})


def _is_own(one: _Import, own: Collection[str]) -> bool:
    return not one.module.startswith("..") and one.name != "*" and _stem(one) in own


def _stem(one: _Import) -> str:
    """Return the module that a relative import names, as its file is called."""
    return one.module.strip(".") or one.name
