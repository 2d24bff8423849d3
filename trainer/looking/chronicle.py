"""The history of a run: one line for each revision, refusal, test and outcome, in order of time.

Everything is as the ledger has it, with the effect and its interval where one was measured.
Nothing here judges or writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gate.contract import experiments
from gate.contract.experiments import Experiment, Outcome
from gate.contract.ledger import Entry, EntryKind
from gate.contract.records import told
from trainer.looking.origin import origin
from trainer.looking.reading import Reading, mapping
from trainer.looking.wording import decisive, interval, moved, value
from trainer.show import visible

LONGEST_REASON = 160
"""Characters of a reason that a line repeats; JSON has them all."""

STYLES: Mapping[str, str] = {
    "launch": "bold",
    "revision": "bold magenta",
    "refused": "bold red",
    "abandoned": "bold yellow",
    "test": "cyan",
    "help": "bold green",
    "null": "bold",
    "harm": "bold red",
    "safety_rollback": "bold red",
}
"""How a line's word looks; a word that is not here is yellow."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of `eau history RUN --json`."""

    seq: int = told("Number of the ledger's line.")
    step: int = told("The training step at whose start it was written; 0 before the first.")
    time: float = told("When it was written.", unit="seconds since 1970")
    kind: str = told("launch, revision, refused, abandoned, test or outcome.")
    revision: int | None = told("The revision that it is about; null if none.", default=None)
    proposal: int | None = told("The proposal that it is about; null if none.", default=None)
    test: int | None = told("The test that it is about; null if none.", default=None)
    author: str | None = told(
        "Of a revision: person, meta_agent, gate or unattributed.", default=None
    )
    door: str | None = told(
        "Of a revision: direct_edit, command, proposal, revert or planted.", default=None
    )
    text: str = told("What happened, in words.")
    reason: str = told("What was given as the reason; empty where nobody gave one.", default="")
    changes: Sequence[Mapping[str, Any]] = told("Knobs that it moves: path, old, new.", default=())
    verdict: str | None = told("Of an outcome: the verdict (docs/effects.md).", default=None)
    difference: float | None = told(
        "Measured effect on success, new minus old; null without one.", default=None
    )
    low: float | None = told("Lower end of its 95% interval.", default=None)
    high: float | None = told("Upper end of it.", default=None)
    provisional: bool = told(
        "True for a help that a run which improves by itself could show.", default=False
    )
    rolled_back_by: int | None = told(
        "The revision that took the change back; null if it stays.", default=None
    )

    @property
    def word(self) -> str:
        """The word that the line is found by: its verdict, or what kind it is of."""
        return self.verdict or self.kind


def lines(reading: Reading) -> Iterator[Line]:
    """Yield the lines of a run's history, oldest first; none where its ledger cannot be trusted."""
    outcomes = {one.seq: one for one in experiments.outcomes(reading.entries)}
    for entry in reading.entries:
        if entry.kind is EntryKind.COMMITTED:
            yield _revision(reading, entry)
        elif entry.kind is EntryKind.LAUNCH:
            yield _line(entry, "launch", "the values that the run began with", revision=0)
        elif entry.kind is EntryKind.OPENED:
            yield _test(entry, Experiment.from_json(entry.body))
        elif entry.seq in outcomes:
            yield _outcome(entry, outcomes[entry.seq])
        elif entry.kind is EntryKind.REFUSED:
            yield _refused(entry)
        elif entry.kind is EntryKind.ABANDONED:
            text = f"revision {entry.revision} was interrupted and never came into force"
            yield _line(entry, "abandoned", text, revision=entry.revision)


def show(console: Console, found: Sequence[Line]) -> None:
    """Print a history, one line of it after the other; what is too long wraps."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for one in found:
        text = Text(visible(one.text))
        if one.reason:
            text.append(f"  ({visible(value(one.reason, most=LONGEST_REASON))})", style="dim")
        word = one.word.upper() if one.verdict else one.word
        number = one.test if one.kind == "test" else one.revision
        shown = word if one.verdict or number is None else f"{word} {number}"
        grid.add_row(f"step {one.step}", Text(visible(shown), STYLES.get(one.word, "yellow")), text)
    console.print(grid, highlight=False)


def _revision(reading: Reading, entry: Entry) -> Line:
    known = reading.revision(entry.body["revision"])
    if known is None:
        return _line(entry, "revision", "", revision=entry.revision)
    came = origin(known)
    files_of = f"files of {', '.join(came.worlds)}" if came.worlds else ""
    what = ", ".join(part for part in (moved(came.changes), files_of) if part)
    return _line(
        entry,
        "revision",
        f"{came}: {what}" if what else str(came),
        revision=known.number,
        proposal=came.proposal,
        author=came.author,
        door=came.kind,
        reason=came.reason,
        changes=came.changes,
    )


def _test(entry: Entry, test: Experiment) -> Line:
    text = f"of revision {test.revision}; {str(test).partition(': ')[2]}"
    if not test.judged:
        text = f"of revision {test.revision} cannot be judged: {test.because}"
    return _line(
        entry, "test", text, revision=test.revision, proposal=test.proposal, test=test.number
    )


def _outcome(entry: Entry, found: Outcome) -> Line:
    measured = mapping(found.effect)
    size = f": success {interval(measured)}" if measured else ""
    provisional = ", provisional" if found.provisional else ""
    back = found.rolled_back_by
    end = "; it stays" if back is None else f"; revision {back} took it back"
    return _line(
        entry,
        "outcome",
        f"revision {found.revision}{size}{provisional}{end if found.ends_the_test else ''}",
        revision=found.revision,
        proposal=found.proposal,
        test=found.experiment,
        reason=found.because,
        verdict=found.verdict,
        difference=measured.get("difference"),
        low=measured.get("low"),
        high=measured.get("high"),
        provisional=found.provisional,
        rolled_back_by=back,
    )


def _refused(entry: Entry) -> Line:
    body = entry.body
    if "breach" in body:
        return _line(entry, "refused", "a breach was put back: " + "; ".join(body["breach"]))
    what = f"proposal {body['proposal']}" if "proposal" in body else "an edit of knob files"
    said = decisive([mapping(one) for one in body.get("findings") or ()])
    changes = body.get("changes") or ()
    return _line(
        entry, "refused", f"{what}: {said}", proposal=body.get("proposal"), changes=changes
    )


def _line(entry: Entry, kind: str, text: str, **known: Any) -> Line:
    return Line(seq=entry.seq, step=entry.step, time=entry.time, kind=kind, text=text, **known)
