"""Front matter: the YAML between two lines of dashes at the head of a page.

Only the strict part of YAML is read, so that nothing in a page can expand, refer or run. What the
keys mean is not known here.
"""

from __future__ import annotations

import re

from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import tree
from skill import fence

_BLOCK = re.compile(r"---\n(.*?\n)---(?:\n|$)", flags=re.DOTALL)


def split(name: str, text: str) -> tuple[str, str]:
    """Return the YAML of a page's front matter, and the rest of the page.

    Raises:
        Refused: if the page does not begin with such a block.
    """
    match = _BLOCK.match(text)
    if match is None:
        message = f"{name} has no front matter."
        next_step = "Begin with a line ---, the keys, and another line ---."
        raise Refused([_flaw(name, message, next_step, 1)])
    return match.group(1), text[match.end() :]


def read(name: str, front: str) -> tree.Entries:
    """Return the tree of a front matter; its lines count from 1, those of the page from 2.

    Raises:
        Refused: if it is no map, uses what strict YAML does without, or has a key twice.
    """
    try:
        root = tree.read(front)
    except tree.Unreadable as fault:
        raise Refused([_flaw(name, fault.message, fault.next_step, fault.line + 1)]) from fault
    if not isinstance(root, tree.Entries):
        raise Refused([_flaw(name, f"{name} has no keys.", "Write `key: value`.", 2)])
    seen: set[str] = set()
    for key, _ in root.pairs:
        if key.text in seen:
            message = f"The key {fence.name(key.text)} stands there twice."
            raise Refused([_flaw(name, message, "Keep one of them.", key.start.line + 1)])
        seen.add(key.text)
    return root


def _flaw(name: str, message: str, next_step: str, line: int) -> Finding:
    return Finding("front_matter", Severity.ERROR, message, next_step, file=name, line=line)
