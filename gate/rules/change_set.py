"""What the rules look at: a change, who wants it, and what training has shown so far.

Every rule is a pure function of a `ChangeSet`. Nothing in one can be written by a knob file
except the new values themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gate.contract import knobs
from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Finding, Severity
from gate.contract.ledger import Author
from gate.contract.proposals import Proposal, name_of
from gate.contract.windows import Window


@dataclass(frozen=True)
class Position:
    """Where a value stands in a file; line and column count from 1."""

    file: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Move:
    """One knob going from one value to another, for all worlds or for one."""

    path: str
    """The knob's declared path, as `user.facts_per_reply`."""
    written: str
    """The path as it was written, which names the world for an override."""
    world: str | None
    """The world it is for; None for every world without a value of its own."""
    spec: knobs.KnobSpec
    old: Any
    new: Any


@dataclass(frozen=True)
class Recorded:
    """What the records say about an episode that a proposal cites."""

    world: str
    success: float | None
    """The verifier's verdict; None where it failed."""


@dataclass(frozen=True)
class Known:
    """What is known about a run when somebody proposes a change to it."""

    last_step: int = 0
    """The last training step on record."""
    episodes: frozenset[str] = frozenset()
    """Those of the episodes cited that are on record."""
    verdicts: Mapping[str, Recorded] = field(default_factory=dict[str, Recorded])
    """What the records say about the episodes whose verdicts are called false."""
    evaluation_words: frozenset[str] = frozenset()
    """Words in lower case that only evaluation data holds."""
    protected_differences: tuple[str, ...] = ()
    """Protected folders that are not what they were at the launch."""
    protected_recorded: bool = True
    """Whether the launch recorded its protected folders at all."""
    attempt: int = 1
    """Which launch of its experiment the run is."""


@dataclass(frozen=True)
class ChangeSet:
    """A change as a whole, with the evidence that rules may use."""

    new: knobs.Knobs
    """All knobs as they would be in force."""
    old: knobs.Knobs | None = None
    """All knobs as they are in force; None when files are checked without a run."""
    changes: Sequence[knobs.KnobChange] = ()
    worlds: Sequence[WorldChange] = ()
    """What it changes in files of worlds."""
    world_moves: Sequence[Move] = ()
    """The values of the worlds' own knobs that change in them."""
    author: Author = Author.UNATTRIBUTED
    reason: str = ""
    """Why, in the author's words; a saved file gives none."""
    step: int = 0
    """The first training step that would run under it."""
    success_history: Sequence[float] = ()
    """Mean success of the anchors of the last steps that had any, in [0, 1], oldest first."""
    last_written: Mapping[str, int] = field(default_factory=dict[str, int])
    """The step at which each knob was written last, by path."""
    positions: Mapping[str, Position] = field(default_factory=dict[str, Position])
    """Where each value stands, by path as written."""
    proposal: Proposal | None = None
    """The proposal that asks for it, if one does."""
    windows: Sequence[Window] = ()
    """The windows that are open at `step`."""
    credit: str | None = None
    """The credit estimator of the run's recipe; None where it is not known."""
    known: Known = field(default_factory=lambda: Known())
    """What is known about the run beside its success."""

    @property
    def by_hand(self) -> bool:
        """True when a person, or a saved file, asks: pace and evidence are then advice."""
        return self.author in (Author.PERSON, Author.UNATTRIBUTED)

    @functools.cached_property
    def moves(self) -> tuple[Move, ...]:
        """The values that really change, world by world; undeclared knobs are not among them."""
        if self.old is None:
            return ()
        found: list[Move] = [*self.world_moves]
        for change in self.changes:
            spec = knobs.specs().get(change.knob)
            if spec is None:
                continue
            old, new = (state.get(spec.path, change.world) for state in (self.old, self.new))
            if old != new:
                found.append(Move(spec.path, change.path, change.world, spec, old, new))
        return tuple(found)

    def touches(self, *paths: str) -> bool:
        """Return whether one of these knobs changes; true of everything without a run."""
        return self.old is None or any(move.path in paths for move in self.moves)

    @property
    def moved(self) -> frozenset[str]:
        """Names of all that changes: declared paths of knobs, and `world.<name>` for files."""
        paths = {move.path for move in self.moves}
        return frozenset(paths | {f"world.{change.world}" for change in self.worlds})

    @staticmethod
    def file_finding(
        rule: str,
        file: str,
        message: str,
        next_step: str,
        *,
        place: tuple[int, int] | None = None,
        value: Any = None,
        limit: Any = None,
    ) -> Finding:
        """Return a finding that refuses a file of a world.

        Args:
            rule: The rule's name, without its prefix.
            file: The file within the run.
            message: The thing, its value and the limit, in a sentence.
            next_step: What to do about it, in a sentence.
            place: Line and column, from 1.
            value: The value found.
            limit: What it broke.
        """
        line, column = place or (None, None)
        return Finding(
            f"rules.{rule}",
            Severity.ERROR,
            message,
            next_step,
            file,
            line,
            column,
            value=value,
            limit=limit,
        )

    def finding(
        self,
        rule: str,
        path: str,
        message: str,
        next_step: str,
        *,
        severity: Severity = Severity.ERROR,
        value: Any = None,
        limit: Any = None,
    ) -> Finding:
        """Return a finding about one knob, with its place if that is known.

        Args:
            rule: The rule's name, without its prefix.
            path: The knob as written.
            message: The thing, its value and the limit, in a sentence.
            next_step: What to do about it, in a sentence.
            severity: Whether it stops the change.
            value: The value found.
            limit: What it broke.
        """
        elsewhere = f"{path.partition('.')[0]}.yaml"
        if self.proposal is not None:
            elsewhere = name_of(self.proposal.number)
        place = self.positions.get(path, Position(elsewhere))
        return Finding(
            rule=f"rules.{rule}",
            severity=severity,
            message=message,
            next_step=next_step,
            file=place.file,
            line=place.line,
            column=place.column,
            path=path,
            value=value,
            limit=limit,
        )
