"""The desired state: what the knob files say, where they differ from what was last adopted.

It is read and judged as a whole, without a side effect. Who keeps what in force belongs to
`gate.guard.guard`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from gate import rules
from gate.contract import files, knobs
from gate.contract.findings import Finding, Refused
from gate.contract.knobs import KnobChange, Knobs, NotReady, ParsedFile
from gate.contract.ledger import Author
from gate.guard import stale
from gate.guard.history import History
from gate.guard.looking import Trouble
from gate.guard.status import KnobStatus
from gate.rules.change_set import ChangeSet, Position


@dataclass(frozen=True)
class Desired:
    """What all files say at one moment."""

    contents: Mapping[str, bytes | Trouble]
    """Every file by its path within the run, as `knobs/user.yaml`."""
    edited: Mapping[str, ParsedFile]
    """The valid ones whose bytes are not those last adopted."""
    findings: tuple[Finding, ...]
    """What is wrong with the others."""
    unfinished: bool
    """True when nothing is wrong but files that look as if they were still being saved."""

    @property
    def state(self) -> dict[str, str]:
        """What every file is, by digest or by trouble; two equal states are one edit."""
        return {
            path: content.reason if isinstance(content, Trouble) else files.content_digest(content)
            for path, content in self.contents.items()
        }

    def over(self, current: Knobs) -> Knobs:
        """Return the knobs as they would be with every valid edit in force."""
        return Knobs({**current.values, **{one.file: one.values for one in self.edited.values()}})


class Judgement(NamedTuple):
    """What an edit would change, and what the rules find in that."""

    changes: tuple[KnobChange, ...]
    findings: tuple[Finding, ...]


def read(
    contents: Mapping[str, bytes | Trouble],
    adopted: Mapping[str, str],
    *,
    worlds: Sequence[str],
    folder: Path,
) -> Desired:
    """Read all files.

    Args:
        contents: What was found in the place of each file, by its path within the run.
        adopted: The sha256 of each file as last adopted; such a file is not parsed again.
        worlds: Names of the run's worlds.
        folder: Where the files lie; named if none of them can be read.
    """
    gone = _gone(contents, folder)
    if gone is not None:
        return Desired(contents, {}, (gone,), unfinished=False)
    edited: dict[str, ParsedFile] = {}
    refusals: list[Refused] = []
    for path, content in contents.items():
        try:
            if isinstance(content, Trouble):
                raise Refused([knobs.unreadable_file(Path(path), content.error)])
            if files.content_digest(content) != adopted.get(path):
                edited[path] = knobs.parse(Path(path).stem, content, worlds=worlds)
        except Refused as refused:
            placed = [replace(finding, file=path) for finding in refused.findings]
            refusals.append(type(refused)(placed))
    return Desired(
        contents=contents,
        edited=edited,
        findings=tuple(finding for refused in refusals for finding in refused.findings),
        unfinished=bool(refusals) and all(isinstance(one, NotReady) for one in refusals),
    )


def judge(
    desired: Desired,
    status: KnobStatus,
    past: History,
    *,
    step: int,
    success_history: Sequence[float],
    credit: str | None = None,
) -> Judgement:
    """Ask the rules about an edit of valid files.

    Args:
        desired: What the files say.
        status: What is in force.
        past: The run's ledger.
        step: The training step about to begin.
        success_history: Mean success of the last training steps, oldest first.
        credit: The credit estimator of the run's recipe, where it is known.
    """
    new = desired.over(status.knobs)
    changes = knobs.diff(status.knobs, new)
    undone = [
        finding
        for path, file in desired.edited.items()
        for finding in stale.check(path, _within(file.file, changes), past.revisions)
    ]
    if undone:
        return Judgement(changes, tuple(undone))
    change_set = ChangeSet(
        old=status.knobs,
        new=new,
        changes=changes,
        author=Author.UNATTRIBUTED,
        step=step,
        success_history=success_history,
        last_written=status.since_step,
        windows=past.windows(step),
        credit=credit,
        positions={
            knob: Position(path, place.line, place.column)
            for path, file in desired.edited.items()
            for knob, place in file.positions.items()
        },
    )
    return Judgement(changes, rules.check(change_set))


def _gone(contents: Mapping[str, bytes | Trouble], folder: Path) -> Finding | None:
    """Return one finding for the whole folder if all its files have one and the same trouble."""
    found = set(contents.values())
    trouble = found.pop()
    if found or not isinstance(trouble, Trouble):
        return None
    return knobs.unreadable_folder(folder.resolve(), trouble.error)


def _within(file: str, changes: Sequence[KnobChange]) -> list[KnobChange]:
    return [change for change in changes if change.path.startswith(f"{file}.")]
