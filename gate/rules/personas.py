"""A persona is a short text in a file of its own; what it describes is how somebody talks."""

from __future__ import annotations

from collections.abc import Iterator

from gate.contract import world_declaration
from gate.contract.findings import Finding
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="A persona is a file directly in `personas/`, with the ending .md or .txt and 1 to "
    "8000 characters.",
    answers="arXiv 2603.11245: simulated users that are all alike; "
    "rlespinasse/agent-skills PR#14: instructions hidden in a text that is read as data.",
    by_hand="silent",
)

SUFFIXES = (".md", ".txt")
LONGEST = 8_000
"""Characters of a persona."""


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every file among a candidate's personas that is none."""
    for change in change_set.worlds:
        for path in change.edits:
            if not path.startswith(world_declaration.PERSONAS):
                continue
            length = len(change.text(path).strip())
            if path.count("/") > 1 or not path.endswith(SUFFIXES):
                message = f"{path} of {change.world} is not where a persona belongs."
                step = "Call it personas/a_name.md."
            elif not 0 < length <= LONGEST:
                message = f"{path} of {change.world} has {length} characters, not 1 to {LONGEST}."
                step = "Describe in a few sentences how the user talks."
            else:
                continue
            yield change_set.file_finding("personas", change.place(path), message, step)
