"""Candidate code says plainly what it does: no text is run, no inner name is reached for.

The code is read, never run. This is a filter against accidents and shortcuts; what holds code that
means harm are the limits of the process it runs in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gate.contract.findings import Finding
from gate.rules import world_imports
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="Candidate code parses, runs no text, opens no file, and reaches no inner names and "
    "no module through another.",
    answers="OpenEnv PR#1200: an environment that can be made to write its own reward; "
    "rllm#143: training success rises and evaluation falls.",
    by_hand="silent",
)

DYNAMIC = frozenset(
    "__import__ breakpoint compile delattr eval exec exit globals help input locals open quit "
    "setattr vars".split()
)
"""Built-in names that run text, reach files, or reach names by text."""

BY_TEXT = frozenset({"attrgetter", "methodcaller"})
"""Names of `operator` that reach an attribute by text."""

INSIDE = frozenset(
    "f_back f_builtins f_code f_globals f_locals gi_code gi_frame cr_code cr_frame ag_code "
    "ag_frame tb_frame tb_next".split()
)
"""Attributes that lead from a value to the code and the frames behind it."""

PLAIN = frozenset({"__doc__", "__init__", "__name__", "__post_init__"})
"""Inner names that ordinary code uses."""

HIDDEN = ("__builtins__", "__class__", "__dict__", "__globals__", "__import__", "__subclasses__")
"""Inner names that a text may not hold, since a format can reach them."""

_PLAINLY = "Write what it does in plain code, without it."


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every trick in the code of a candidate world."""
    for change in change_set.worlds:
        for path, new in change.edits.items():
            if not path.endswith(".py"):
                continue
            for line, column, what, step in _faults(new):
                yield change_set.file_finding(
                    "world-code",
                    change.place(path),
                    f"{path} of {change.world} {what}.",
                    step,
                    place=(line, column),
                )


def _faults(content: bytes) -> Iterator[tuple[int, int, str, str]]:
    try:
        module = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        yield line, 1, f"is no Python: {getattr(error, 'msg', error)}", "Mend the line."
        return
    modules = _modules(module)
    plain = _plain_getattrs(module)
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            what = _name(node, plain)
        elif isinstance(node, ast.Attribute):
            what = _attribute(node, modules)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            hidden = [name for name in HIDDEN if name in node.value]
            what = f"holds {hidden[0]} in a text" if hidden else ""
        else:
            continue
        if what:
            yield node.lineno, node.col_offset + 1, what, _PLAINLY


def _name(node: ast.Name, plain: set[int]) -> str:
    if node.id == "getattr" and id(node) not in plain:
        return "uses getattr with a name that is not written out"
    refused = node.id in DYNAMIC | BY_TEXT or _is_inner(node.id)
    return f"uses {node.id}" if refused else ""


def _attribute(node: ast.Attribute, modules: Mapping[str, str]) -> str:
    if node.attr in INSIDE | BY_TEXT or _is_inner(node.attr):
        return f"uses .{node.attr}"
    module = modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if module is None:
        return ""
    through = node.attr.startswith("_") or world_imports.is_hidden(module, node.attr)
    return f"reaches {module}.{node.attr}, which is no part of {module}" if through else ""


def _is_inner(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in PLAIN


def _modules(module: ast.Module) -> dict[str, str]:
    """Return the names in a file that stand for modules, with the module of each."""
    return {
        alias.asname or alias.name: alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.Import)
        for alias in node.names
    }


def _plain_getattrs(module: ast.Module) -> set[int]:
    """Return the uses of `getattr` whose second argument is a plain name written out."""
    return {
        id(node.func)
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and len(node.args) > 1
        for name in (node.args[1],)
        if isinstance(name, ast.Constant) and isinstance(name.value, str)
        if not name.value.startswith("_") and name.value not in INSIDE
    }
