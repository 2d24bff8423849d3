"""A candidate world changes only files that its world lets be edited, and they are text.

What makes tasks, what judges the judge and what measures is never among them.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract import world_declaration
from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Finding, Refused
from gate.contract.world_declaration import WorldDeclaration
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="A candidate world changes the files that its `world.yaml` in force names as "
    "editable, `user.yaml`, personas and the knobs of `world.yaml`, all of them UTF-8 text.",
    answers="OpenEnv PR#1200: an agent writes its own reward file; HyperAgents PR#7: an agent "
    "edits what grades it.",
    by_hand="silent",
)


def declared(change: WorldChange) -> WorldDeclaration:
    """Return what the world in force declares.

    Raises:
        Refused: if it has no declaration that can be read.
    """
    file = f"world/{change.world}/{world_declaration.FILE}"
    content = change.before.get(world_declaration.FILE, b"")
    return world_declaration.read(change.world, content, file=file)


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every file that may not be edited, or is no text."""
    for change in change_set.worlds:
        try:
            declaration = declared(change)
        except Refused as refused:
            yield from refused.findings
            continue
        for path, new in change.edits.items():
            if not declaration.may_edit(path):
                known = ", ".join(dict.fromkeys(declaration.editable))
                yield change_set.file_finding(
                    "world-files",
                    change.place(path),
                    f"{path} of {change.world} is not open to edits; these are: {known}.",
                    "Remove it from the candidate.",
                    value=path,
                    limit=known,
                )
            elif fault := _not_text(new):
                message = f"{change.place(path)} is no text: {fault}."
                step = "Save it as UTF-8."
                yield change_set.file_finding("world-files", change.place(path), message, step)


def _not_text(content: bytes) -> str:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {error.start} is not UTF-8"
    return "it holds a NUL" if b"\0" in content else ""
