"""Knob files become values whole, or are refused whole with every fault and its place.

A file counts as whole only when its last line is the comment `# end of knobs`, and no other line
begins so. A file cut anywhere while it is being saved then lacks that line, so that
`entropy_coeff: 0.004` cut to `0.00` is never taken for a value. Nothing here writes, moves or repairs a file, and no fault falls back to a default.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import characters, tree
from gate.contract.knobs.check import Fault, Parts, check, dotted
from gate.contract.knobs.spec import FILES
from gate.contract.knobs.values import Knobs

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


class Position(NamedTuple):
    """Where a value stands."""

    line: int
    """From 1."""
    column: int
    """In characters, from 1."""


@dataclass(frozen=True)
class ParsedFile:
    """One valid knob file."""

    file: str
    """Its name, without `.yaml`."""
    values: Mapping[str, Any]
    """Every knob of the file by key, and `worlds`: what differs in single worlds."""
    positions: Mapping[str, Position]
    """Where the value of each path stands, as in `user.worlds.travel.facts_per_reply`."""


def parse(file: str, content: bytes, *, worlds: Collection[str]) -> ParsedFile:
    """Return the values of one knob file.

    Args:
        file: Its name, without `.yaml`; one of `FILES`.
        content: Its bytes.
        worlds: Names of the worlds that the run has.

    Raises:
        NotReady: if it is empty, holds nothing but comments, or does not end with the line `END`.
        Refused: for every other fault; both carry all faults at once.
        ValueError: if there is no knob file of this name.
    """
    name = f"{file}.yaml"
    if file not in FILES:
        raise ValueError(f"{file!r} is no knob file; the files are {', '.join(FILES)}")
    text = decode(name, content)
    root = read_tree(name, text)
    document, positions = locate(root)
    values, faults = check(file, document, worlds=worlds)
    findings = [_placed(name, fault, positions) for fault in _blanks(file, root) + faults]
    findings += _repeated_keys(file, root)
    unfinished = _unfinished(name, text)
    if unfinished is not None:
        # What the missing rest would have said cannot be missed yet.
        findings = [finding for finding in findings if finding.rule != "knobs.missing"]
        raise NotReady([unfinished, *_in_order(findings)])
    if findings:
        raise Refused(_in_order(findings))
    places = {
        dotted(file, parts): Position(*place)
        for (parts, at_key), place in positions.items()
        if not at_key
    }
    return ParsedFile(file, values, places)


def load(directory: Path, *, worlds: Collection[str]) -> Knobs:
    """Return the knobs that the four files of a directory hold.

    Raises:
        NotReady: if no file has a fault other than being unfinished.
        Refused: for every fault of every file at once, a file that is missing, a directory in
            its place or no permission to read it included.
    """
    parsed: dict[str, Mapping[str, Any]] = {}
    refusals: list[Refused] = []
    for file in FILES:
        path = directory / f"{file}.yaml"
        try:
            parsed[file] = parse(file, path.read_bytes(), worlds=worlds).values
        except OSError as error:
            refusals.append(Refused([unreadable_file(path, error)]))
        except Refused as refused:
            located = [replace(finding, file=str(path)) for finding in refused.findings]
            refusals.append(type(refused)(located))
    if refusals:
        kind = NotReady if all(isinstance(one, NotReady) for one in refusals) else Refused
        raise kind([finding for refused in refusals for finding in refused.findings])
    return Knobs(parsed)


def unreadable_file(path: Path, error: OSError) -> Finding:
    """Return the finding about a knob file that cannot be read at all."""
    reason = (error.strerror or str(error)).lower()
    next_step = "Put the file back; until then the last good values stay in force."
    if isinstance(error, PermissionError):
        next_step = f"Allow reading it: chmod u+r {path}."
    elif isinstance(error, IsADirectoryError):
        next_step = "A directory stands in its place: move it away and put the file back."
    return _error("unreadable", f"{path.name} cannot be read: {reason}.", next_step, str(path))


def decode(name: str, content: bytes) -> str:
    """Return a knob file's text, without a byte order mark.

    Raises:
        NotReady: if it is empty.
        Refused: if it is no text, too large, or a merge conflict.
    """
    if len(content) > LARGEST:
        raise Refused(
            [
                _error(
                    "size",
                    f"{name} has {len(content)} bytes; at most {LARGEST} are read.",
                    "Restore it from the starting set in knobs/.",
                    name,
                    value=len(content),
                    limit=LARGEST,
                )
            ]
        )
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Refused(
            [_error("encoding", f"{name} is saved as UTF-16.", "Save it as UTF-8.", name, (1, 1))]
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig")
        raise Refused(
            [
                _error(
                    "encoding",
                    f"{name} is no UTF-8 text: byte {content[error.start]:#04x} stands here.",
                    "Save it as UTF-8 text.",
                    name,
                    _at(before, len(before)),
                )
            ]
        ) from error
    findings = [
        _error(
            "character",
            f"{name} has {characters.name(found.group())} in it.",
            "Remove the character; if there are many, the file is no text: restore it.",
            name,
            _at(text, found.start()),
        )
        for found in list(characters.UNPRINTABLE.finditer(text))[:MOST_CHARACTERS]
    ]
    conflicts = [
        _error(
            "conflict",
            f"{name} has a merge conflict marker {found.group()} at line {_at(text, found.start())[0]}.",
            "Keep one side of each conflict and remove the marker lines.",
            name,
            _at(text, found.start()),
        )
        for found in _CONFLICT.finditer(text)
    ]
    if findings or conflicts:
        raise Refused(findings + conflicts)
    return text


def read_tree(name: str, text: str) -> tree.Node:
    """Return the tree of a knob file's text.

    Raises:
        NotReady: if it holds nothing but comments, or breaks off.
        Refused: if it is no YAML, or uses what knob files do without.
    """
    try:
        root = tree.read(text)
    except tree.Unreadable as fault:
        findings = _suspects(name, text) or [
            _error("syntax", fault.message, fault.next_step, name, (fault.line, fault.column))
        ]
        root = fault
    else:
        if root is None or (isinstance(root, tree.Scalar) and root.text == ""):
            raise NotReady(
                [
                    _error(
                        "empty",
                        f"{name} is empty.",
                        "Restore it from the starting set in knobs/; the last good values stay "
                        "in force.",
                        name,
                    )
                ]
            )
        if isinstance(root, tree.Entries):
            return root
        findings = _suspects(name, text) or [
            _error(
                "syntax",
                f"{name} holds one {'text' if isinstance(root, tree.Scalar) else 'list'} "
                "where knobs belong.",
                "Write one `name: value` a line.",
                name,
                (root.start.line, root.start.column),
            )
        ]
    unfinished = _unfinished(name, text)
    raise NotReady([unfinished, *findings]) if unfinished else Refused(findings)


def locate(root: tree.Node) -> tuple[Any, dict[tuple[Parts, bool], tuple[int, int]]]:
    """Return a tree's JSON value, and line and column of each value and (at_key) of each key.

    Of a key that stands there twice the last value counts here; `parse` refuses the file.
    """
    positions: dict[tuple[Parts, bool], tuple[int, int]] = {}

    def walk(node: tree.Node, parts: Parts) -> Any:
        positions[parts, False] = (node.start.line, node.start.column)
        if isinstance(node, tree.Scalar):
            return node.value
        if isinstance(node, tree.Items):
            return [walk(item, (*parts, number)) for number, item in enumerate(node.nodes)]
        document: dict[str, Any] = {}
        for key, value in node.pairs:
            here = (*parts, key.text)
            positions[here, True] = (key.start.line, key.start.column)
            document[key.text] = walk(value, here)
        return document

    return walk(root, ()), positions


def _nodes(node: tree.Node, parts: Parts = ()) -> Iterator[tuple[Parts, tree.Node]]:
    yield parts, node
    if isinstance(node, tree.Entries):
        for key, value in node.pairs:
            yield from _nodes(value, (*parts, key.text))
    elif isinstance(node, tree.Items):
        for number, item in enumerate(node.nodes):
            yield from _nodes(item, (*parts, number))


def _blanks(file: str, root: tree.Node) -> list[Fault]:
    """Return a fault for each name without a value: half an edit, not a null."""
    return [
        Fault(
            parts,
            _error(
                "blank",
                f"{dotted(file, parts)} has no value.",
                "Write one; where null is allowed, write null.",
                f"{file}.yaml",
                path=dotted(file, parts),
            ),
        )
        for parts, node in _nodes(root)
        if isinstance(node, tree.Scalar) and node.plain and node.text == ""
    ]


def _repeated_keys(file: str, root: tree.Node) -> list[Finding]:
    findings: list[Finding] = []
    for parts, node in _nodes(root):
        first: dict[str, tree.Scalar] = {}
        for key, _ in node.pairs if isinstance(node, tree.Entries) else ():
            earlier = first.setdefault(key.text, key)
            if earlier is not key:
                path = dotted(file, (*parts, key.text))
                findings.append(
                    _error(
                        "duplicate",
                        f"{path} stands at line {earlier.start.line} and again at line "
                        f"{key.start.line}.",
                        "Keep one of the two lines.",
                        f"{file}.yaml",
                        (key.start.line, key.start.column),
                        path=path,
                        limit=[earlier.start.line, key.start.line],
                    )
                )
    return findings


def _unfinished(name: str, text: str) -> Finding | None:
    whole = text.rstrip()
    last = _at(whole, len(whole))[0]
    # Every line that merely begins like the last one counts: cut at the right byte, it would be it.
    lines = [_at(text, found.start())[0] for found in _END_LINE.finditer(text)]
    if lines == [last] and whole.endswith(END):
        return None
    earlier = [line for line in lines if line != last]
    if earlier:
        message = f"{name} has a line that begins with `{END}` at line {earlier[0]}, too early."
        next_step = "Keep that line only at the very end, so that a half-saved file is known."
    else:
        message = f"{name} does not end with the line `{END}`, so it may be half saved."
        next_step = f"Save it again, or add the last line `{END}` if it was removed."
    return _error("unfinished", message, next_step, name, (last, 1), limit=END)


def _suspects(name: str, text: str) -> list[Finding]:
    return [
        _error(
            "character",
            odd.sentence,
            odd.next_step,
            name,
            (odd.line, odd.column),
            value=odd.character,
        )
        for odd in list(characters.oddities(text))[:MOST_CHARACTERS]
    ]


def _placed(
    name: str, fault: Fault, positions: Mapping[tuple[Parts, bool], tuple[int, int]]
) -> Finding:
    parts, at_key = fault.parts, fault.at_key
    # What is missing has no place of its own: point at what it is missing from.
    while (parts, at_key) not in positions:
        parts, at_key = parts[:-1], False
    line, column = positions[parts, at_key]
    return replace(fault.finding, file=name, line=line, column=column)


def _in_order(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.line or 0, finding.column or 0))


def _at(text: str, index: int) -> tuple[int, int]:
    """Return line and column, both from 1, of a character of a text."""
    before = text[:index]
    start = max(before.rfind("\n"), before.rfind("\r")) + 1
    breaks = before.count("\n") + before.count("\r") - before.count("\r\n")
    return breaks + 1, index - start + 1


def _error(
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
    line, column = place or (None, None)
    return Finding(
        f"knobs.{rule}", Severity.ERROR, message, next_step, file, line, column, path, value, limit
    )
