"""Proposals: changes that somebody wants in force, with evidence, expected effect and a way back.

A proposal is one file, `proposals/NNNN.yaml`, read whole or refused whole with the place of every
fault. It counts from the moment that its last line says it was saved whole; once the gate has
decided about it, its number is spent. What the rules think of it belongs to `gate.rules`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from gate.contract import files
from gate.contract.knobs.reading import Position
from gate.contract.paths import OutsideRoot, RunPaths, inside

END = "# end of proposal"
"""The last line of every proposal: a file that is cut while being saved lacks it."""

LARGEST = 64 * 1024
"""Bytes of a proposal; real ones have about one thousand."""

MOST = 9999
"""The highest number."""

_NAME = re.compile(r"(\d{4})\.(?:yaml|draft\.yaml|report\.json|patch|restart\.json)\Z")
_PROPOSAL = re.compile(r"(\d{4})\.yaml\Z")
_RESTART = re.compile(r"(\d{4})\.restart\.json\Z")
_DRAFT = re.compile(r"(\d{4})\.draft\.yaml\Z")


class Direction(StrEnum):
    """Where a metric is expected to go."""

    UP = "up"
    DOWN = "down"


class Otherwise(StrEnum):
    """What becomes of changes whose effect cannot be told."""

    KEEP = "keep"
    REVERT = "revert"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Expected:
    """The effect that would prove a proposal right."""

    metric: str
    """A field of the step records, as `success`."""
    direction: Direction
    size: float
    """In the units of the metric, above 0."""


@dataclass(frozen=True)
class FalseVerdict:
    """An episode that the verifier judged wrongly."""

    episode: str
    should_be: float
    """The success that it should have been given, in [0, 1]."""


@dataclass(frozen=True)
class Proposal:
    """One proposal as it was written."""

    number: int
    why: str
    author: str
    expected: Expected
    window: int
    """Training steps for which nothing else should change."""
    changes: Mapping[str, Any] | None = None
    """New values by knob path; None to take what `candidate/knobs/` changes."""
    steps: tuple[int, ...] = ()
    """Training steps that it cites."""
    episodes: tuple[str, ...] = ()
    """Episodes that it cites, by id."""
    concurrent: bool = False
    """Whether it may come into force while another window is open."""
    if_inconclusive: Otherwise = Otherwise.KEEP
    """`KEEP` or `REVERT`: what follows when a test of it is over and tells nothing."""
    if_underpowered: Otherwise = Otherwise.KEEP
    """`KEEP` or `REFUSE`: what follows when no test that fits could find its effect."""
    way_back: Mapping[str, Any] | None = None
    """Values to go back to by knob path; None for the old ones."""
    reverts: int | None = None
    """The revision that it takes back; the rules for taking back apply then."""
    supersedes: int | None = None
    worlds: tuple[str, ...] | None = None
    """The worlds whose files in `candidate/world/` it takes up; empty for all that lie there,
    None for none."""
    false_verdicts: tuple[FalseVerdict, ...] = ()
    """What an edit of a verifier mends."""
    patch: bool = False
    """Whether it is about the patch of the code that lies beside it."""
    text: str = ""
    """The whole file, comments included, and every value as it reads without its quotes."""
    digest: str = ""
    """The sha256 of the file's bytes."""
    positions: Mapping[str, Position] = field(default_factory=dict[str, Position])
    """Where the value of each changed knob stands, by its path."""

    def to_json(self) -> dict[str, Any]:
        """Return what the ledger keeps of it."""
        kept: dict[str, Any] = {
            "number": self.number,
            "digest": self.digest,
            "author": self.author,
            "window": self.window,
            "concurrent": self.concurrent,
            "if_inconclusive": self.if_inconclusive.value,
            "expected": {
                "metric": self.expected.metric,
                "direction": self.expected.direction.value,
                "size": self.expected.size,
            },
            "evidence": {"steps": list(self.steps), "episodes": list(self.episodes)},
        }
        if self.way_back is not None:
            kept["way_back"] = dict(self.way_back)
        if self.reverts is not None:
            kept["reverts"] = self.reverts
        if self.supersedes is not None:
            kept["supersedes"] = self.supersedes
        if self.false_verdicts:
            kept["false_verdicts"] = [
                {"episode": one.episode, "should_be": one.should_be} for one in self.false_verdicts
            ]
        return kept


@cache
def schema() -> Mapping[str, Any]:
    """Return the JSON Schema of a proposal; read it, never change it."""
    path = Path(__file__).parent / "proposal.schema.json"
    return json.loads(path.read_text(encoding="utf-8"))


def name_of(number: int) -> str:
    """Return a proposal's path within its run, as `proposals/0007.yaml`."""
    return f"proposals/{number:04d}.yaml"


def numbers(names: Iterable[str]) -> tuple[int, ...]:
    """Return the numbers of the proposals among the names of a folder, lowest first."""
    return _numbers(_PROPOSAL, names)


def drafts(names: Iterable[str]) -> tuple[int, ...]:
    """Return the numbers of the drafts among the names of a folder, lowest first."""
    return _numbers(_DRAFT, names)


def restarts(names: Iterable[str]) -> tuple[int, ...]:
    """Return the numbers of the requests for a restart among the names, lowest first."""
    return _numbers(_RESTART, names)


def names(run: RunPaths) -> list[str]:
    """Return the names in a run's folder of proposals; none if there is no folder of its own."""
    return names_in(os.fspath(run.proposals))


def names_in(folder: str) -> list[str]:
    """Return the names in a folder that is no link; none if it is not there or cannot be read."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        return os.listdir(descriptor)
    finally:
        os.close(descriptor)


def submit(run: RunPaths, content: bytes, *, draft: bool = False) -> int:
    """Put a proposal on file under the next free number; returns that number.

    The file appears whole, and two that are submitted at once get two numbers. What it says is
    not looked at: read it first with `proposal_reading.read`.

    Args:
        run: The run.
        content: The bytes of the file, its last line included.
        draft: True to leave it for a person to apply, which a running trainer passes over.

    Raises:
        DiskFull: if there is no room.
        ValueError: if all numbers are spent.
    """
    run.proposals.mkdir(exist_ok=True)
    whole = run.proposals / f".draft.{os.getpid()}"
    files.write_whole(whole, content)
    try:
        for number in range(next_number(run), MOST + 1):
            try:
                os.link(whole, run.draft(number) if draft else run.proposal(number))
            except FileExistsError:
                continue
            files.sync_directory(run.proposals)
            return number
    finally:
        whole.unlink(missing_ok=True)
    raise ValueError(f"{run.proposals} holds proposal {MOST}, the last number; start a new run")


def read_draft(run: RunPaths, number: int) -> bytes | None:
    """Return the bytes of a draft; None if there is no plain file of that name."""
    try:
        return files.read_plain(
            inside(run.root, "proposals") / run.draft(number).name, most=LARGEST
        )
    except (OSError, OutsideRoot):
        return None


def release(run: RunPaths, number: int) -> None:
    """Make a draft a proposal, since a person wants it in force."""
    os.rename(run.draft(number), run.proposal(number))
    files.sync_directory(run.proposals)


def next_number(run: RunPaths) -> int:
    """Return a number above every one that a file of the folder bears."""
    found = (_NAME.match(name) for name in names(run))
    return 1 + max((int(match.group(1)) for match in found if match), default=0)


def _numbers(form: re.Pattern[str], names: Iterable[str]) -> tuple[int, ...]:
    found = (form.match(name) for name in names)
    return tuple(sorted(int(match.group(1)) for match in found if match and int(match.group(1))))
