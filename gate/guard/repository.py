"""The repository's worlds and lessons, checked as CI does before a run begins with them.

What people have reviewed is held to the same rules as a candidate, with two exceptions: their
worlds may import any module of the trainer, and any file beside them. Nothing is run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from gate import rules
from gate.contract import knobs, world_declaration, world_folder
from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.protected import CHECKOUT
from gate.guard import probing
from gate.rules import world_imports
from gate.rules.change_set import ChangeSet

WORLDS = "trainer/worlds"
LESSONS = "experience/lessons"

LINT = (sys.executable, "-m", "skill", "lint", "--json", "--root")
"""The program that reads lessons; the root is added."""

LINT_S = 60.0
"""Seconds that it may take."""

NEEDED = ("env.py", "verifier.py", "oracle.py", "gold", "tasks", "evaluation")
"""What every world holds beside its declaration."""


def worlds_of(root: Path) -> list[str]:
    """Return the names of the worlds of a checkout."""
    return sorted(path.parent.name for path in (root / WORLDS).glob(f"*/{world_declaration.FILE}"))


def inspect(root: Path) -> tuple[Finding, ...]:
    """Return what is wrong with the worlds and lessons of a checkout; nothing where it has none.

    Args:
        root: The checkout.
    """
    found = [finding for world in worlds_of(root) for finding in _world(root, world)]
    return (*found, *_lessons(root))


def _world(root: Path, world: str) -> Iterator[Finding]:
    told = f"{WORLDS}/{world}"
    for name in NEEDED:
        if not (root / told / name).exists():
            message = f"{told} has no {name}."
            step = "See docs/adding-a-world.md for what a world is made of."
            yield Finding("repository.world", Severity.ERROR, message, step, file=told)
    try:
        contents = world_folder.read(
            root / told, told=told, without=world_declaration.NEVER_EDITABLE
        )
        file = f"{told}/{world_declaration.FILE}"
        declared = world_declaration.read(world, contents[world_declaration.FILE], file=file)
    except Refused as refused:
        yield from refused.findings
        return
    for path in declared.values["editable"]:
        if not path.endswith("/") and path not in contents:
            message = f"{told} lets {path} be edited, and it is not there."
            step = "Write it, or take it off the list."
            line, column = declared.positions["editable"]
            yield Finding("repository.world", Severity.ERROR, message, step, file, line, column)
    edits = {path: content for path, content in contents.items() if declared.may_edit(path)}
    before = {
        path: _reviewed(content) if path.endswith(".py") else content
        for path, content in contents.items()
    }
    change = WorldChange(world, before, edits, WORLDS)
    yield from rules.check(ChangeSet(new=knobs.defaults(), worlds=[change]))


def _reviewed(content: bytes) -> bytes:
    """Return the imports of a file that its reviewers answer for, as a file of their own."""
    found = world_imports.imports(content)
    kept = [one for one in found if one.module.split(".")[0] in ("", "trainer")]
    return "".join(
        f"from {one.module} import {one.name}\n" if one.name else f"import {one.module}\n"
        for one in kept
    ).encode()


def _lessons(root: Path) -> Iterator[Finding]:
    """Yield what the skill's own reader finds in the lessons; it runs in a process of its own."""
    if not (root / LESSONS).is_dir():
        return
    try:
        ended = subprocess.run(
            [*LINT, os.fspath(root.resolve())],
            cwd=CHECKOUT,
            env=probing.environment(),
            capture_output=True,
            text=True,
            timeout=LINT_S,
            check=False,
        )
        answer = cast("dict[str, Any]", json.loads(ended.stdout))
        told = [Finding.from_json(record) for record in answer["findings"]]
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError) as error:
        message = f"The lessons could not be read: {type(error).__name__}."
        step = f"Run `python -m skill lint --root {root}` and look."
        yield Finding("repository.lessons", Severity.ERROR, message, step, file=LESSONS)
        return
    yield from _about_lessons(told)


def _about_lessons(found: Sequence[Finding]) -> Iterator[Finding]:
    for finding in found:
        if finding.rule.startswith("lesson.") or "experience" in (finding.file or ""):
            yield finding
