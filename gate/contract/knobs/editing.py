"""A program's edit of a knob file: only what was asked for changes, and no comment is lost.

The new values are written over the old ones in the text itself, so that everything else (order,
quotes, spacing, line ends, a byte order mark) stays as a person left it. A comment that stands
inside a removed part is kept on a line of its own. A file that cannot be read is never written.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from gate.contract.findings import Refused
from gate.contract.knobs.check import check
from gate.contract.knobs.reading import read_whole
from gate.contract.knobs.spec import WORLDS, specs
from gate.contract.knobs.splicing import Splicer, comments
from gate.contract.knobs.text import flaw
from gate.contract.knobs.tree import value_of
from gate.contract.knobs.values import ABSENT, KnobChange, known_worlds

_BOM = b"\xef\xbb\xbf"


def edit(file: str, content: bytes, changes: Sequence[KnobChange]) -> bytes:
    """Return the content of a knob file after some changes to it.

    Worlds that the file or the changes name are taken as known. `old` is not compared with what
    the file holds.

    Args:
        file: Its name, without `.yaml`.
        content: Its bytes now.
        changes: What to change, all in this file.

    Raises:
        NotReady: if the content is empty or lacks its last line.
        Refused: if the content cannot be read, or would not be valid after the changes.
        ValueError: if a change belongs to another file.
    """
    text, root = read_whole(file, content)
    before = value_of(root)
    after = _changed(file, before, changes)
    worlds = known_worlds({file: after})
    wanted, faults = check(file, after, worlds=worlds)
    if faults:
        raise Refused(replace(fault.finding, file=f"{file}.yaml") for fault in faults)
    splicer = Splicer(text, comments(text, root), "\r\n" if "\r\n" in text else "\n")
    splicer.rewrite(root, after)
    edited = splicer.result()
    _prove(file, splicer, edited, wanted)
    return (_BOM if content.startswith(_BOM) else b"") + edited.encode()


def _prove(file: str, splicer: Splicer, edited: str, wanted: Mapping[str, Any]) -> None:
    """Refuse an edit that does not read as wanted or that lost a comment."""
    try:
        text, root = read_whole(file, edited.encode())
        values, _ = check(file, value_of(root), worlds=known_worlds({file: wanted}))
        lost = Counter(splicer.texts()) - Counter(text[a:b] for a, b in comments(text, root))
        proven = values == wanted and not lost
    except Refused:
        proven = False
    if not proven:
        message = f"{file}.yaml is written in a way that a program cannot edit safely."
        raise Refused([flaw("edit", message, "Change it by hand.", f"{file}.yaml")])


def _changed(file: str, document: Any, changes: Sequence[KnobChange]) -> dict[str, Any]:
    """Return a file's values after the changes, as they are written (no defaults added)."""
    after = cast("dict[str, Any]", copy.deepcopy(document))
    for change in changes:
        if change.path.partition(".")[0] != file:
            raise ValueError(f"{change.path} does not belong to {file}.yaml")
        target, key, world = after, change.knob.partition(".")[2], change.world
        if world is not None:
            target = after.setdefault(WORLDS, {}).setdefault(world, {})
        if change.new is not ABSENT:
            target[key] = _as_written(change, target.get(key))
        else:
            target.pop(key, None)
        if world is not None and not target:
            del after[WORLDS][world]
    return after


def _as_written(change: KnobChange, current: Any) -> Any:
    """Return a new value without the default parts that the present text leaves out too."""
    spec = specs().get(change.knob)
    unique = spec.schema.get("x-unique") if spec else None
    if spec is None or unique is None or not _maps(change.new) or not _maps(current):
        return change.new
    items = cast("list[dict[str, Any]]", current or [])
    present = {item.get(unique): item for item in items}
    parts = spec.schema["items"]["properties"]
    return [
        {
            key: value
            for key, value in item.items()
            if item.get(unique) not in present
            or key in present[item[unique]]
            or value != parts.get(key, {}).get("default", ABSENT)
        }
        for item in cast("list[dict[str, Any]]", change.new)
    ]


def _maps(value: Any) -> bool:
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    return all(isinstance(item, dict) for item in items)
