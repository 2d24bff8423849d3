"""Standing: what became of every proposal of a run, and what to do about it next.

All of it is read from the ledger and the folder of proposals. A verdict is the gate's word, quoted
from its outcome line; nothing here computes one, and nothing is concluded from a mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gate.contract import files, ledger, proposals, windows
from gate.contract.knobs import tree
from gate.contract.ledger import Entry, EntryKind, Revision, RevisionKind
from gate.contract.paths import RunPaths

REST_STEPS = 5
"""Steps for which the gate lets any written knob rest."""


class State(StrEnum):
    """What became of a proposal."""

    DRAFT = "draft"
    WAITING = "waiting"
    REFUSED = "refused"
    OPEN = "open"
    """In force; its window is not over, or its test is not decided."""
    OVER = "over"
    """In force; its window is over without a verdict."""
    JUDGED = "judged"
    """In force, with a verdict."""
    TAKEN_BACK = "taken_back"


NEXT: Mapping[State, str] = {
    State.DRAFT: "a person applies it (`gate apply RUN N`); propose nothing on the same knobs",
    State.WAITING: "the trainer decides at a coming step; wait",
    State.REFUSED: "read the findings; mend what they name in a new proposal, or leave it",
    State.OPEN: "change nothing until the window is over",
    State.OVER: "no verdict was given; say what was seen, and conclude nothing",
    State.JUDGED: "write a lesson that cites the verdict",
    State.TAKEN_BACK: "do not propose it again; write a lesson",
}

AFTER_VERDICT: Mapping[str, str] = {
    "help": "keep it; write a lesson with this verdict as evidence",
    "harm": "it is taken back by itself; write a lesson with this verdict as evidence",
    "null": "it does nothing that matters here; write a lesson, and look elsewhere",
    "safety_rollback": "it is taken back by itself; nothing is said about why: look at the run",
    "lagging": "it has begun to act; wait",
    "pending": "too early; wait",
    "inconclusive": "the test tells nothing; a longer window or a larger step would",
}
"""What to do next by the gate's word."""


@dataclass(frozen=True)
class Told:
    """A verdict as an outcome line has it."""

    seq: int
    """The number of that line in the ledger; a lesson cites it as `runs/RUN/ledger#SEQ`."""
    step: int
    verdict: str
    because: str
    effect: float | None = None
    """Change of success; None where the line has none."""
    interval: tuple[float, float] | None = None
    window: tuple[int, int] | None = None
    rolled_back_by: int | None = None


@dataclass(frozen=True)
class Standing:
    """One proposal and what became of it."""

    number: int
    state: State
    step: int | None = None
    """The step at whose start it was decided."""
    revision: int | None = None
    author: str = ""
    why: str = ""
    window_ends: int | None = None
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict[str, tuple[Any, Any]])
    """Old and new value by knob path."""
    rules: tuple[str, ...] = ()
    """Rules that refused it."""
    told: Told | None = None
    """The newest verdict."""

    @property
    def next_step(self) -> str:
        """What to do about it."""
        if self.told is not None:
            return AFTER_VERDICT.get(self.told.verdict, NEXT[self.state])
        return NEXT[self.state]


def read(run: RunPaths, *, step: int) -> tuple[Standing, ...]:
    """Return every proposal of a run, by number.

    Args:
        run: The run; without a ledger it has none.
        step: The training step about to begin.

    Raises:
        gate.contract.ledger.Damaged: if the ledger cannot be read.
    """
    entries = ledger.entries(run.ledger)
    revisions = ledger.revisions(run.ledger)
    names = proposals.names(run)
    found = {number: Standing(number, State.DRAFT) for number in proposals.drafts(names)} | {
        number: Standing(number, State.WAITING) for number in proposals.numbers(names)
    }
    for entry in entries:
        if entry.kind is EntryKind.REFUSED and isinstance(entry.body.get("proposal"), int):
            found[entry.body["proposal"]] = _refused(entry)
    told = _verdicts(entries)
    taken_back = {revision.details.get("reverts"): revision.number for revision in revisions}
    still_open = {window.revision for window in windows.open_at(step, revisions)}
    for revision in revisions:
        if revision.kind is RevisionKind.PROPOSAL:
            one = _in_force(revision, told, taken_back, still_open)
            found[one.number] = one
    return tuple(found[number] for number in sorted(found))


def open_ones(found: Sequence[Standing]) -> tuple[Standing, ...]:
    """Return the proposals that something still has to come of."""
    waiting = (State.DRAFT, State.WAITING, State.OPEN)
    return tuple(one for one in found if one.state in waiting)


def resting(run: RunPaths, *, step: int) -> frozenset[str]:
    """Return the paths of knobs that were written too lately to be written again."""
    return frozenset(
        change.path
        for revision in ledger.revisions(run.ledger)
        if revision.number and step < revision.step + REST_STEPS
        for change in revision.changes
    )


def last_step(run: RunPaths) -> int:
    """Return the last finished step of a run; 0 before the first."""
    steps = [record.get("step") for record in files.tail(run.steps, 2).records]
    return max((step for step in steps if isinstance(step, int)), default=0)


def experiments(run: RunPaths, *, most: int) -> list[Mapping[str, Any]]:
    """Return what the newest files of `experiments/` say, untrusted values and all."""
    found: list[Mapping[str, Any]] = []
    for path in sorted(run.experiments.glob("[0-9]*.yaml"))[-most:]:
        try:
            root = tree.read(files.read_plain(path, most=1 << 20).decode())
        except (OSError, UnicodeDecodeError, tree.Unreadable):
            continue
        value: Any = {} if root is None else tree.value_of(root)
        if isinstance(value, dict):
            found.append(json.loads(json.dumps(value, default=str)))
    return found


def _refused(entry: Entry) -> Standing:
    findings = entry.body.get("findings", ())
    changes = entry.body.get("changes", ())
    return Standing(
        entry.body["proposal"],
        State.REFUSED,
        step=entry.step,
        changes={one["path"]: (one.get("old"), one.get("new")) for one in changes},
        rules=tuple(one["rule"] for one in findings if one.get("severity") == "error"),
    )


def _in_force(
    revision: Revision,
    told: Mapping[int, Told],
    taken_back: Mapping[Any, int],
    still_open: set[int],
) -> Standing:
    said = revision.details["proposal"]
    verdict = told.get(revision.number)
    if revision.number in taken_back:
        state = State.TAKEN_BACK
    elif verdict is not None and verdict.verdict not in ("pending", "lagging"):
        state = State.JUDGED
    else:
        state = State.OPEN if revision.number in still_open else State.OVER
    changes = (change.to_json() for change in revision.changes)
    return Standing(
        said["number"],
        state,
        step=revision.step,
        revision=revision.number,
        author=str(said.get("author", "")),
        why=revision.reason,
        window_ends=revision.step + said["window"] - 1,
        changes={one["path"]: (one.get("old"), one.get("new")) for one in changes},
        told=verdict,
    )


def _verdicts(entries: Sequence[Entry]) -> dict[int, Told]:
    """Return the newest verdict by the revision that it is about."""
    found: dict[int, Told] = {}
    for entry in entries:
        revision = entry.body.get("revision")
        if entry.kind is not EntryKind.OUTCOME or not isinstance(revision, int):
            continue
        body = entry.body
        if not isinstance(body.get("verdict"), str):
            continue
        effect = body.get("effect") or {}
        window = body.get("window") or ()
        found[revision] = Told(
            seq=entry.seq,
            step=entry.step,
            verdict=body["verdict"].lower(),
            because=str(body.get("because", "")),
            effect=effect.get("difference"),
            interval=(effect["low"], effect["high"]) if {"low", "high"} <= effect.keys() else None,
            window=(window[0], window[1]) if len(window) == 2 else None,
            rolled_back_by=body.get("rolled_back_by"),
        )
    return found
