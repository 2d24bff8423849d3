"""A world's rule file has the form that its schema declares, whoever wrote it.

The schema lies with the users that read the rules; here it is data. What the rules do in a
dialogue is for the probes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from gate.contract import world_declaration
from gate.contract.findings import Finding, Refused
from gate.contract.knobs import tree
from gate.contract.knobs.check import check_document
from gate.contract.knobs.reading import placed, repeated_keys
from gate.contract.protected import CHECKOUT
from gate.rules.change_set import ChangeSet
from gate.rules.declaration import Declaration

DECLARATION = Declaration(
    sentence="`user.yaml` of a candidate world has the form of `trainer/users/rules.schema.json`, "
    "each rule under an id of its own.",
    answers="EAU: an empty rule file, and a filter for a kind of fact that leaks never had; "
    "langwatch/tasks#737: an empty message of the simulated user.",
    by_hand="silent",
)

_RULE = "rules.user-rules"

SCHEMA = CHECKOUT / "trainer" / "users" / "rules.schema.json"


@cache
def schema() -> Mapping[str, Any]:
    """Return the JSON Schema of a rule file; read it, never change it."""
    return json.loads(SCHEMA.read_text(encoding="utf-8"))


def check(change_set: ChangeSet) -> Iterator[Finding]:
    """Yield a finding for every fault in the form of a candidate's rule file."""
    for change in change_set.worlds:
        if world_declaration.RULES in change.edits:
            place = change.place(world_declaration.RULES)
            yield from faults(change.edits[world_declaration.RULES], file=place)


def faults(content: bytes, *, file: str) -> Iterator[Finding]:
    """Yield what is wrong with the form of a rule file.

    Args:
        content: The bytes of the file.
        file: What findings call it.
    """
    try:
        root = world_declaration.read_tree(content, file=file)
    except Refused as refused:
        yield from (replace(finding, rule=_RULE) for finding in refused.findings)
        return
    values, wrong = check_document(schema(), tree.value_of(root), name="user")
    found = [placed(file, fault, root) for fault in wrong]
    found += repeated_keys("user", root)
    for finding in found:
        yield replace(finding, rule=_RULE)
    if found:
        return
    seen: dict[str, int] = {}
    for number, rule in enumerate(values.get("rules") or ()):
        first = seen.setdefault(rule["id"], number)
        if first != number:
            message = f"The rules {first + 1} and {number + 1} are both called {rule['id']}."
            yield ChangeSet.file_finding("user-rules", file, message, "Rename one of them.")
