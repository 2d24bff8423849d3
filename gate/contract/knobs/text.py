"""Bytes become the tree of a whole knob file, or a refusal that names what stands in the way.

A file counts as whole only when its last line is the comment `# end of knobs`, and no other line
begins so. A file cut anywhere while it is being saved then lacks that line, so that
`entropy_coeff: 0.004` cut to `0.00` is never taken for a value. (The comment survives formatters,
which drop YAML's own end marker.) This module knows nothing about which knobs there are.
"""

from __future__ import annotations

import re
from typing import Any

from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import characters, tree

END = "# end of knobs"
"""The last line of every knob file."""

LARGEST = 256 * 1024
"""Bytes of a knob file; real ones have about four thousand."""

MOST_CHARACTERS = 20
"""Characters out of place that one refusal lists."""

_END_LINE = re.compile(rf"^{END}.*$", re.MULTILINE)
_CONFLICT = re.compile(r"^(<{7}|\|{7}|={7}|>{7})(?= |\r?$)", re.MULTILINE)


class NotReady(Refused):
    """A file is empty or lacks its last line: as if it were still being saved.

    A reader keeps the last good values and looks again at the next step; when it stays so, the
    findings say what to do.
    """


def decode(name: str, content: bytes) -> str:
    """Return a knob file's text, without a byte order mark.

    Raises:
        NotReady: if it breaks off within a character.
        Refused: if it is too large, no text, or a merge conflict.
    """
    if len(content) > LARGEST:
        message = f"{name} has {len(content)} bytes; at most {LARGEST} are read."
        next_step = "Restore it from the starting set in knobs/."
        size = len(content)
        raise Refused([flaw("size", message, next_step, name, value=size, limit=LARGEST)])
    text = _text(name, content)
    findings = _unprintable(name, text) + _conflicts(name, text)
    if findings:
        raise Refused(findings)
    return text


def read_tree(name: str, text: str) -> tree.Entries:
    """Return the tree of a knob file's text.

    Raises:
        NotReady: if it holds nothing but comments, or is no YAML and lacks its last line.
        Refused: if it is no YAML, or uses what knob files do without.
    """
    try:
        root = tree.read(text)
    except tree.Unreadable as fault:
        place = (fault.line, fault.column)
        syntax = flaw("syntax", fault.message, fault.next_step, name, place)
    else:
        if isinstance(root, tree.Entries):
            return root
        if root is None or (isinstance(root, tree.Scalar) and root.text == ""):
            next_step = "Restore it from the starting set in knobs/."
            raise NotReady([flaw("empty", f"{name} holds no knobs.", next_step, name)])
        kind = "a single text" if isinstance(root, tree.Scalar) else "a list"
        message = f"{name} holds {kind} where knobs belong."
        place = (root.start.line, root.start.column)
        syntax = flaw("syntax", message, "Write one `name: value` a line.", name, place)
    # A parser's own words about a tab or a full-width colon never name it.
    findings = _oddities(name, text) or [syntax]
    half = unfinished(name, text)
    raise NotReady([half, *findings]) if half else Refused(findings)


def unfinished(name: str, text: str) -> Finding | None:
    """Return what shows that a text may be cut; None when its last line proves it whole."""
    whole = text.rstrip()
    last = place_of(whole, len(whole))[0]
    # A line that merely begins like the last one would be it, when cut at the right byte.
    lines = [place_of(text, found.start())[0] for found in _END_LINE.finditer(text)]
    if lines == [last] and whole.endswith(END):
        return None
    early = [line for line in lines if line != last]
    if early:
        message = f"{name} has a line that begins with `{END}` at line {early[0]}, too early."
        next_step = "Keep that line only at the very end, so that a half-saved file is known."
        return flaw("unfinished", message, next_step, name, (early[0], 1), limit=END)
    message = f"{name} does not end with the line `{END}`, so it may be half saved."
    next_step = f"Save it again, or add the last line `{END}` if it was removed."
    return flaw("unfinished", message, next_step, name, (last, 1), limit=END)


def flaw(
    rule: str,
    message: str,
    next_step: str,
    file: str,
    place: tuple[int, int] | None = None,
    *,
    path: str | None = None,
    value: Any = None,
    limit: Any = None,
) -> Finding:
    """Return the finding that refuses a knob file."""
    line, column = place or (None, None)
    return Finding(
        f"knobs.{rule}", Severity.ERROR, message, next_step, file, line, column, path, value, limit
    )


def place_of(text: str, index: int) -> tuple[int, int]:
    """Return line and column, both from 1, of a character of a text."""
    before = text[:index]
    start = max(before.rfind("\n"), before.rfind("\r")) + 1
    breaks = before.count("\n") + before.count("\r") - before.count("\r\n")
    return breaks + 1, index - start + 1


def _text(name: str, content: bytes) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        message = f"{name} is saved as UTF-16."
        raise Refused([flaw("encoding", message, "Save it as UTF-8.", name, (1, 1))])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        before = content.removeprefix(b"\xef\xbb\xbf")[: fault.start].decode(errors="replace")
        byte = fault.object[fault.start]
        message = f"{name} is no UTF-8 text: the byte {byte:#04x} stands here."
        place = place_of(before, len(before))
        finding = flaw("encoding", message, "Save it as UTF-8 text.", name, place)
        cut = fault.reason == "unexpected end of data"
        raise (NotReady if cut else Refused)([finding]) from fault


def _unprintable(name: str, text: str) -> list[Finding]:
    return [
        flaw(
            "character",
            f"{name} has {characters.name(found.group())} in it.",
            "Remove the character; if there are many, the file is no text: restore it.",
            name,
            place_of(text, found.start()),
            value=found.group(),
        )
        for found in list(characters.UNPRINTABLE.finditer(text))[:MOST_CHARACTERS]
    ]


def _conflicts(name: str, text: str) -> list[Finding]:
    findings: list[Finding] = []
    for found in list(_CONFLICT.finditer(text))[:MOST_CHARACTERS]:
        line, column = place_of(text, found.start())
        findings.append(
            flaw(
                "conflict",
                f"{name} has a merge conflict marker {found.group()} at line {line}.",
                "Keep one side of each conflict and remove the marker lines.",
                name,
                (line, column),
                value=found.group(),
            )
        )
    return findings


def _oddities(name: str, text: str) -> list[Finding]:
    return [
        flaw("character", odd.sentence, odd.next_step, name, (odd.line, odd.column), value=odd.text)
        for odd in list(characters.oddities(text))[:MOST_CHARACTERS]
    ]
