"""A proposal's file becomes a `Proposal`, or is refused with the place of every fault.

The text is held to the strict part of YAML that knob files use, and each value to its knob's
declaration. Nothing here knows what is in force, or whether the changes are good ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from gate.contract import files, knobs, proposals
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import ABSENT, KnobChange, KnobSpec, characters, hints, text, tree
from gate.contract.knobs.check import check_document
from gate.contract.knobs.reading import Position, placed, position_of, repeated_keys
from gate.contract.paths import OutsideRoot, RunPaths, inside
from gate.contract.proposals import (
    END,
    LARGEST,
    Direction,
    Expected,
    FalseVerdict,
    Otherwise,
    Proposal,
)

_PATH = re.compile(r"[a-z]+\.(worlds\.[A-Za-z0-9_-]+\.)?[a-z_]+\Z")
_MAPS = ("changes", "way_back")


class Unfinished(Refused):
    """A proposal lacks its last line, as if it were still being written: it does not count yet."""


def load(run: RunPaths, number: int, *, worlds: Collection[str]) -> Proposal:
    """Read one proposal of a run.

    Args:
        run: The run.
        number: The proposal's number.
        worlds: Names of the run's worlds.

    Raises:
        Unfinished: if it lacks its last line.
        Refused: with every fault, if it cannot be read or is not valid.
    """
    name = proposals.name_of(number)
    try:
        folder = inside(run.root, "proposals")
        content = files.read_plain(folder / run.proposal(number).name, most=LARGEST)
    except OutsideRoot as error:
        _refuse(name, "unreadable", f"{error}.", "Put a folder in the place of the link.")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        step = "Submit it as a plain file under a new number."
        _refuse(name, "unreadable", f"{name} cannot be read: {reason}.", step)
    return read(number, content, worlds=worlds)


def read(number: int, content: bytes, *, worlds: Collection[str]) -> Proposal:
    """Return the proposal that the bytes of a file hold.

    Args:
        number: Its number.
        content: The bytes of the file.
        worlds: Names of the run's worlds.

    Raises:
        Unfinished: if it lacks its last line.
        Refused: with every fault and its place.
    """
    name = proposals.name_of(number)
    if len(content) > LARGEST:
        message = f"{name} has more than {LARGEST} bytes."
        _refuse(name, "size", message, "Say it shorter; cite records instead of quoting them.")
    try:
        written = text.decode(name, content)
    except Refused as refused:
        raise Refused(_ours(name, refused.findings)) from refused
    _check_whole(name, written)
    root = _tree(name, written)
    document: dict[str, Any] = tree.value_of(root)
    # What the two maps may hold is declared by the knobs, not by this file's schema.
    outline: dict[str, Any] = {
        key: {} if key in _MAPS and isinstance(value, dict) else value
        for key, value in document.items()
    }
    values, faults = check_document(proposals.schema(), outline, name="proposal")
    findings = [placed(name, fault, root) for fault in faults]
    findings += repeated_keys("proposal", root)
    maps = {key: dict(_values(name, key, root, findings, worlds)) for key in _MAPS}
    findings += _contradictions(number, document, values)
    if findings:
        raise Refused(_ours(name, findings))
    positions = {
        str(parts[1]): position_of(node)
        for parts, _, node in tree.walk(root)
        if len(parts) == 2 and parts[0] == "changes"
    }
    return Proposal(
        number=number,
        why=values["why"].strip(),
        author=values["author"],
        expected=Expected(
            metric=values["expected"]["metric"],
            direction=Direction(values["expected"]["direction"]),
            size=values["expected"]["size"],
        ),
        window=values["window"],
        changes=maps["changes"] if "changes" in document else None,
        steps=tuple(values["evidence"]["steps"]),
        episodes=tuple(values["evidence"]["episodes"]),
        concurrent=values["concurrent"],
        if_inconclusive=Otherwise(values["if_inconclusive"]),
        if_underpowered=Otherwise(values["if_underpowered"]),
        way_back=maps["way_back"] if "way_back" in document else None,
        reverts=values.get("reverts"),
        supersedes=values.get("supersedes"),
        worlds=_worlds(values["world"]),
        false_verdicts=tuple(FalseVerdict(**one) for one in values["false_verdicts"]),
        patch=values["patch"],
        text="\n".join([written, *_words(root)]),
        digest=files.content_digest(content),
        positions=positions,
    )


def _contradictions(
    number: int, document: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[Finding]:
    """Yield what no schema can tell."""
    name = proposals.name_of(number)
    later = values.get("supersedes")
    if isinstance(later, int) and later >= number:
        message = f"{name} supersedes proposal {later}, which is not an earlier one."
        yield _flaw(name, "supersedes", message, "Name an earlier proposal, or none.")
    if "reverts" in document and ("changes" in document or document.get("world")):
        message = f"{name} takes revision {document['reverts']} back and changes more."
        step = "Leave changes and world out, or make two proposals."
        yield _flaw(name, "reverts", message, step)
    if document.get("patch") is True and {"changes", "world", "reverts"} & document.keys():
        message = f"{name} is about a patch of the code and changes more."
        yield _flaw(name, "patch", message, "Leave the rest out, or make two proposals.")


def _worlds(written: bool | list[str]) -> tuple[str, ...] | None:
    if isinstance(written, bool):
        return () if written else None
    return tuple(written) or None


def _check_whole(name: str, written: str) -> None:
    lines = written.rstrip().splitlines()
    if lines and lines[-1] == END and lines.count(END) == 1:
        return
    message = f"{name} does not end with the line `{END}`, so it may be half saved."
    step = f"Write `{END}` as its last line, and nowhere else."
    raise Unfinished([_flaw(name, "unfinished", message, step, (max(len(lines), 1), 1))])


def _tree(name: str, written: str) -> tree.Entries:
    try:
        root = tree.read(written)
    except tree.Unreadable as fault:
        odd = [
            _flaw(name, "character", one.sentence, one.next_step, (one.line, one.column))
            for one in list(characters.oddities(written))[: text.MOST_CHARACTERS]
        ]
        # The reader of YAML is shared with the knob files and speaks of them.
        message = fault.message.replace("a knob file", "a proposal")
        place = (fault.line, fault.column)
        raise Refused(odd or [_flaw(name, "syntax", message, fault.next_step, place)]) from fault
    if not isinstance(root, tree.Entries):
        _refuse(name, "syntax", f"{name} holds no proposal.", "Write one `name: value` a line.")
    return root


def _values(
    name: str, key: str, root: tree.Entries, findings: list[Finding], worlds: Collection[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the valid values of one of the two maps by knob path, and note what is wrong."""
    most = proposals.schema()["properties"][key]["maxProperties"]
    nodes = [node for parts, _, node in tree.walk(root) if parts == (key,)]
    pairs = nodes[-1].pairs if nodes and isinstance(nodes[-1], tree.Entries) else None
    if pairs is None:
        return
    if len(pairs) > most or (key == "changes" and not pairs):
        message = f"proposal.{key} names {len(pairs)} knobs; 1 to {most} are allowed."
        step = "Propose a few changes at a time." if pairs else "Name one, or leave changes out."
        findings.append(_flaw(name, "length", message, step, limit=most))
    for path, node in pairs[:most]:
        spec, wrong = _knob(path.text, worlds)
        place = position_of(path if spec is None else node)
        if spec is None:
            message, step = wrong
            findings.append(_flaw(name, "knob", message, step, place, path=path.text))
            continue
        value, faults = knobs.check_value(spec, tree.value_of(node), worlds=worlds)
        findings += [
            replace(fault, file=name, line=place[0], column=place[1], path=path.text)
            for fault in faults
        ]
        if not faults:
            yield path.text, value


def _knob(path: str, worlds: Collection[str]) -> tuple[KnobSpec | None, tuple[str, str]]:
    """Return the knob that a path names; without one, what is wrong and what to do."""
    change = KnobChange(path, ABSENT, ABSENT) if _PATH.match(path) else None
    spec = None if change is None else knobs.specs().get(change.knob)
    if change is None or spec is None:
        homes = [known for known in knobs.specs() if known.partition(".")[2] == path]
        near = homes[0] if homes else hints.nearest(path, list(knobs.specs()))
        step = f"Did you mean {near}?" if near else "Write file.name, as user.max_reveals."
        return None, (f"{path} is no knob.", step)
    if change.world is not None and change.world not in worlds:
        known = ", ".join(sorted(worlds)) or "none"
        return None, (
            f"{path} names the world {change.world}; the run's worlds are: {known}.",
            "Use one of them.",
        )
    return spec, ("", "")


def _words(root: tree.Node) -> Iterator[str]:
    """Yield every text of a file as it reads without quotes and escapes."""
    for _, key, node in tree.walk(root):
        if key is not None:
            yield key.text
        if isinstance(node, tree.Scalar):
            yield node.text


def _ours(name: str, findings: Collection[Finding]) -> list[Finding]:
    """Return findings of the shared reader as ones about a proposal."""
    ours: list[Finding] = []
    for finding in findings:
        step = finding.next_step
        if finding.path == "proposal.evidence" or (finding.path or "").startswith(
            "proposal.evidence.episodes"
        ):
            step = "Cite step numbers under steps and ids such as 000012-05 under episodes."
        elif step.startswith("It belongs in "):
            step = "Write it under changes, as `user.max_reveals: 3`."
        ours.append(
            replace(
                finding,
                rule=finding.rule.replace("knobs.", "proposal.", 1),
                file=name,
                message=finding.message.replace("proposal.yaml", name, 1),
                next_step=step,
            )
        )
    return sorted(ours, key=lambda one: (one.line or 0, one.column or 0))


def _flaw(
    name: str,
    rule: str,
    message: str,
    next_step: str,
    place: tuple[int, int] | Position | None = None,
    *,
    path: str | None = None,
    limit: Any = None,
) -> Finding:
    line, column = place or (None, None)
    return Finding(
        f"proposal.{rule}",
        Severity.ERROR,
        message,
        next_step,
        name,
        line,
        column,
        path=path,
        limit=limit,
    )


def _refuse(name: str, rule: str, message: str, next_step: str) -> NoReturn:
    raise Refused([_flaw(name, rule, message, next_step)])
