"""Knob files become values whole, or are refused whole with every fault and its place.

Nothing here writes, moves or repairs a file, and no fault falls back to a default: a caller keeps
what it has. Whether a file was saved whole is decided in `gate.contract.knobs.text`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from gate.contract import files
from gate.contract.findings import Finding, Refused
from gate.contract.knobs import tree
from gate.contract.knobs.check import check
from gate.contract.knobs.spec import FILES
from gate.contract.knobs.text import LARGEST, NotReady, decode, flaw, read_tree, unfinished
from gate.contract.knobs.values import Knobs
from gate.contract.knobs.walk import Fault, dotted

_UNREADABLE = "unreadable"
UNREADABLE = f"knobs.{_UNREADABLE}"
"""The rule of a finding about a knob file, or a whole folder of them, that cannot be read."""


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
    values, faults = check(file, tree.value_of(root), worlds=worlds)
    blanks = _blanks(file, root)
    empty = {fault.parts for fault in blanks}
    faults = blanks + [fault for fault in faults if fault.parts not in empty]
    findings = [placed(name, fault, root) for fault in faults]
    findings += repeated_keys(file, root)
    half = unfinished(name, text)
    if half is not None:
        # What the missing rest would have said cannot be missed yet.
        findings = [finding for finding in findings if finding.rule != "knobs.missing"]
        raise NotReady([half, *_in_order(findings)])
    if findings:
        raise Refused(_in_order(findings))
    positions = {dotted(file, parts): position_of(node) for parts, _, node in tree.walk(root)}
    return ParsedFile(file, values, positions)


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
            # A link leads on to its file; a pipe in a file's place is waited for by nobody.
            content = files.read_plain(Path(os.path.realpath(path)), most=LARGEST)
            parsed[file] = parse(file, content, worlds=worlds).values
        except OSError as error:
            refusals.append(Refused([unreadable_file(path, error)]))
        except Refused as refused:
            located = [replace(finding, file=str(path)) for finding in refused.findings]
            refusals.append(type(refused)(located))
    if refusals:
        kind = NotReady if all(isinstance(one, NotReady) for one in refusals) else Refused
        raise kind([finding for refused in refusals for finding in refused.findings])
    return Knobs(parsed)


def read_whole(file: str, content: bytes) -> tuple[str, tree.Entries]:
    """Return text and tree of a knob file that can be read, whatever its values are.

    Raises:
        NotReady: if it is empty or lacks its last line.
        Refused: if it cannot be read, or says a thing twice.
    """
    name = f"{file}.yaml"
    text = decode(name, content)
    root = read_tree(name, text)
    half = unfinished(name, text)
    if half is not None:
        raise NotReady([half])
    repeated = repeated_keys(file, root)
    if repeated:
        raise Refused(repeated)
    return text, root


def unreadable_file(path: Path, error: OSError) -> Finding:
    """Return the finding about a knob file that cannot be read at all."""
    reason = (error.strerror or str(error)).lower()
    next_step = "Put the file back; until then the last good values stay in force."
    if isinstance(error, PermissionError):
        next_step = f"Allow reading it: chmod u+r {path}."
    elif isinstance(error, IsADirectoryError):
        next_step = "A directory stands in its place: move it away and put the file back."
    return flaw(_UNREADABLE, f"{path.name} cannot be read: {reason}.", next_step, str(path))


def unreadable_folder(folder: Path, error: OSError) -> Finding:
    """Return the finding about a folder of which no knob file can be read.

    Args:
        folder: The folder, links followed.
        error: Why none of its files can be read.
    """
    reason = (error.strerror or str(error)).lower()
    message = f"None of the knob files in {folder} can be read: {reason}."
    next_step = "Put the folder back with its four files; the last good values stay in force."
    if isinstance(error, PermissionError):
        next_step = f"Allow reading it: chmod -R u+rX {folder}; the last good values stay in force."
    return flaw(_UNREADABLE, message, next_step, "knobs")


def _blanks(file: str, root: tree.Node) -> list[Fault]:
    """Return a fault for each name without a value: half an edit, not a null."""
    return [
        Fault(
            parts,
            flaw(
                "blank",
                f"{dotted(file, parts)} has no value.",
                "Write one; where null is allowed, write null.",
                f"{file}.yaml",
                path=dotted(file, parts),
            ),
        )
        for parts, _, node in tree.walk(root)
        if isinstance(node, tree.Scalar) and node.plain and node.text == ""
    ]


def repeated_keys(file: str, root: tree.Node) -> list[Finding]:
    """Return a finding for each name that stands twice in one map."""
    findings: list[Finding] = []
    for parts, _, node in tree.walk(root):
        first: dict[str, tree.Scalar] = {}
        for key, _ in node.pairs if isinstance(node, tree.Entries) else ():
            earlier = first.setdefault(key.text, key)
            if earlier is not key:
                path = dotted(file, (*parts, key.text))
                findings.append(
                    flaw(
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


def placed(name: str, fault: Fault, root: tree.Node) -> Finding:
    """Return a fault's finding with the place of its value, or of its key if that is wrong."""
    nearest: tree.Node = root
    for parts, key, node in tree.walk(root):
        # What is missing has no place of its own: point at what it is missing from.
        if parts == fault.parts[: len(parts)]:
            at_key = fault.at_key and parts == fault.parts
            nearest = key if at_key and key is not None else node
    line, column = position_of(nearest)
    return replace(fault.finding, file=name, line=line, column=column)


def position_of(node: tree.Node) -> Position:
    """Return where a value begins."""
    return Position(node.start.line, node.start.column)


def _in_order(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.line or 0, finding.column or 0))
