"""The launch record, `run.yaml`, as far as the gate needs it: attempt, parent, knobs, protected.

The trainer writes it once. Only the needed parts are parsed, since the whole of it is long and
this is read at every decision.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gate.contract import files
from gate.contract.knobs import tree

MOST_ATTEMPTS = 5
"""Launches that one experiment may have, aborted ones included."""

LARGEST = 1 << 20
"""Bytes of a launch record that are read."""

_NEEDED = re.compile(r"^(?:parent|attempt|knobs|protected):.*\n(?:[ \t]+.*\n|\n)*", re.MULTILINE)

_SIZE = re.compile(
    r"^[ ]+(total_steps|dialogues_per_step|group_size): ([1-9][0-9]{0,8})[ ]*$", re.MULTILINE
)

_CREDIT = re.compile(r"^[ ]+credit: ([a-z_]{1,40})[ ]*$", re.MULTILINE)


@dataclass(frozen=True)
class LaunchRecord:
    """What a run's launch says about where it comes from."""

    parent: str | None = None
    """The run that it restarts, by the name of its folder."""
    attempt: int = 1
    """Which launch of the experiment it calls itself, from 1."""
    protected: Mapping[str, str] = field(default_factory=dict[str, str])
    """The sha256 of each protected path."""
    knobs: str | None = None
    """The folder that it watches in place of its own `knobs/`; None for its own."""


@dataclass(frozen=True)
class Sizes:
    """How long a run is and how its batches are made, as its recipe has it."""

    total_steps: int | None = None
    """The step at which it ends, unless `agent.total_steps` says otherwise; None if not told."""
    groups: int | None = None
    """Groups of episodes in a step, each of one task; None if not told."""


def sizes(run_dir: Path) -> Sizes:
    """Return the sizes of a run; where its launch record is missing or damaged, none."""
    try:
        written = files.read_plain(run_dir / "run.yaml", most=LARGEST).decode(errors="replace")
    except OSError:
        return Sizes()
    found = {name: int(number) for name, number in _SIZE.findall(written)}
    dialogues, group = found.get("dialogues_per_step"), found.get("group_size", 1)
    return Sizes(found.get("total_steps"), None if dialogues is None else dialogues // group)


def credit(run_dir: Path) -> str | None:
    """Return the credit estimator of a run's recipe; None where the record does not tell."""
    try:
        written = files.read_plain(run_dir / "run.yaml", most=LARGEST).decode(errors="replace")
    except OSError:
        return None
    found = _CREDIT.search(written)
    return None if found is None else found.group(1)


def read(run_dir: Path) -> LaunchRecord:
    """Return the launch record of a run; where it is missing or damaged, one that says nothing."""
    try:
        content = files.read_plain(run_dir / "run.yaml", most=LARGEST)
        root = tree.read("".join(_NEEDED.findall(content.decode() + "\n")))
    except (OSError, UnicodeDecodeError, tree.Unreadable):
        return LaunchRecord()
    values: Any = {} if root is None else tree.value_of(root)
    parent, attempt = values.get("parent"), values.get("attempt")
    watched = values.get("knobs")
    protected: dict[str, str] = {}
    if root is not None:
        # As text: a digest of digits around one e would otherwise be a number.
        protected = {
            str(parts[1]): node.text
            for parts, _, node in tree.walk(root)
            if len(parts) == 2 and parts[0] == "protected" and isinstance(node, tree.Scalar)
        }
    return LaunchRecord(
        parent=parent if isinstance(parent, str) else None,
        attempt=attempt if isinstance(attempt, int) else 1,
        protected=protected,
        knobs=watched if isinstance(watched, str) else None,
    )


def attempt(run_dir: Path) -> int:
    """Return which launch of its experiment a run is, from 1, counted over its parents.

    The larger of what the records say and of what the parents on disk add up to counts, so that
    a removed parent gives no attempt back. Parents beyond the limit are not counted.
    """
    highest, seen = 1, 0
    current: Path | None = run_dir
    while current is not None and seen <= MOST_ATTEMPTS:
        record = read(current)
        highest = max(highest, seen + record.attempt)
        seen += 1
        named = record.parent
        plain = named is not None and named == Path(named).name and not named.startswith(".")
        current = run_dir.parent / named if named is not None and plain else None
    return max(highest, seen)
