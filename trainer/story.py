"""The story of a run's interventions, told from its ledger alone: who, what, why, and what it did.

One line for each thing that happened, oldest first. What led to a change and what followed from
it stand in the records; nothing here judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gate.contract import experiments, ledger
from gate.contract.experiments import Experiment, Outcome
from gate.contract.ledger import Entry, EntryKind, Revision
from gate.contract.paths import RunPaths
from trainer.looking import origin, wording

STEPS_AROUND = 5
"""Steps before and after a revision over which success is averaged."""


def tell(run: RunPaths, steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a run's story.

    Args:
        run: The run.
        steps: Its step records, oldest first.

    Raises:
        ledger.Damaged: if its ledger cannot be read.
    """
    entries = ledger.entries(run.ledger)
    revisions = {one.number: one for one in ledger.revisions(run.ledger)}
    outcomes = {one.seq: one for one in experiments.outcomes(entries)}
    for entry in entries:
        yield from _told(entry, revisions, outcomes, steps)
    for lesson in lessons(run):
        yield f"lesson: {lesson}"


def lessons(run: RunPaths) -> list[Path]:
    """Return the lessons that a run kept to itself."""
    return sorted((run.root / "experience" / "lessons").glob("[0-9]*.md"))


def _told(
    entry: Entry,
    revisions: Mapping[int, Revision],
    outcomes: Mapping[int, Outcome],
    steps: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    if entry.kind is EntryKind.COMMITTED:
        yield from _revision(revisions[entry.body["revision"]], steps)
    elif entry.kind is EntryKind.REFUSED and "proposal" in entry.body:
        why = wording.decisive(entry.body["findings"])
        yield f"step {entry.step}: proposal {entry.body['proposal']} was refused: {why}"
    elif entry.kind is EntryKind.OPENED:
        yield _test(Experiment.from_json(entry.body))
    elif entry.seq in outcomes:
        yield _verdict(outcomes[entry.seq])


def _revision(revision: Revision, steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    changes = ", ".join(f"{one.path} {one.old} -> {one.new}" for one in revision.changes)
    worlds = f"worlds of folder {revision.world:04d}" if revision.details.get("worlds") else ""
    what = ", ".join(part for part in (changes, worlds) if part)
    yield (
        f"step {revision.step}: revision {revision.number}, {origin.DOORS[revision.kind]}: {what}"
        f"{_around(revision.step, steps)}"
    )
    if revision.reason:
        yield f"    why: {revision.reason}"


def _around(step: int, steps: Sequence[Mapping[str, Any]]) -> str:
    """Return success just before and from a step on; nothing where either is unknown."""
    before = _mean(steps, range(step - STEPS_AROUND, step))
    since = _mean(steps, range(step, step + STEPS_AROUND))
    if before is None or since is None:
        return ""
    return f" (success {before:.2f} before, {since:.2f} in the {STEPS_AROUND} steps from there)"


def _mean(steps: Sequence[Mapping[str, Any]], wanted: range) -> float | None:
    found = [one["success"] for one in steps if one["step"] in wanted]
    values = [value for value in found if value is not None]
    return sum(values) / len(values) if values else None


def _test(test: Experiment) -> str:
    head = f"step {test.opened}: test {test.number} of revision {test.revision}"
    if not test.judged:
        return f"{head}: it cannot be judged, {test.because}"
    found = "" if test.detectable is None else f", finds {test.detectable:.2f} four times in five"
    return f"{head}: {test.design.replace('_', ' ')}, {test.window} steps{found}"


def _verdict(outcome: Outcome) -> str:
    back = outcome.rolled_back_by
    end = "it stays" if back is None else f"revision {back} took it back"
    return (
        f"step {outcome.step}: VERDICT on revision {outcome.revision}: {outcome.verdict} "
        f"({outcome.because}); {end}"
    )
