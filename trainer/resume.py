"""Resuming: from the last good checkpoint, through the steps already on file, to the present.

Steps after the checkpoint are replayed under the revisions that were in force, and compared with
what is on file: a run that was killed tells the same story as one that was not. After them the
knob files on disk count, and every difference between disk, ledger and checkpoint is told.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gate.contract import ledger
from gate.contract.paths import RunPaths
from trainer import checkpoint, runlog
from trainer.checkpoint import Found
from trainer.errors import Unusable


class ResumePlan(NamedTuple):
    """Where a run goes on from."""

    found: Found
    last_step: int
    """The newest step on file; steps up to it are replayed."""
    torn_records: int
    """Lines of `steps.jsonl` after the checkpoint that a crash cut short."""


class ResumeError(Unusable):
    """A run that cannot go on; the message says what is missing."""


def plan(paths: RunPaths) -> ResumePlan:
    """Find the checkpoint to go on from and the steps to replay.

    Raises:
        trainer.checkpoint.CheckpointError: if no checkpoint is whole.
        ResumeError: if the ledger or the step records do not hang together.
    """
    chain = ledger.verify(paths.ledger)
    if not chain.ok:
        raise ResumeError(
            f"{paths.ledger}: line {chain.first_bad_line} does not follow from the line before: "
            "the ledger was edited; restore it, or start a new run"
        )
    found = checkpoint.newest(paths.checkpoints)
    start = found.snapshot.step
    logged = runlog.steps_after(paths.steps, start - 1)
    steps = [record["step"] for record in logged.records]
    last_step = max(steps, default=start)
    if steps != list(range(max(start, 1), last_step + 1)):
        raise ResumeError(
            f"{paths.steps}: {found.directory.name} goes on from step {start}, and every step "
            f"from there to {last_step} should have one line; found {_spans(steps)}: restore the "
            "file, or start a new run"
        )
    known = {revision.number for revision in ledger.revisions(paths.ledger)}
    for record in logged.records:
        old = record.get("old_revision")
        for revision in (record.get("revision"), *([] if old is None else [old])):
            if revision not in known:
                raise ResumeError(
                    f"{paths.steps}: step {record['step']} ran under revision {revision}, which "
                    f"{paths.ledger.name} does not hold; restore the ledger's last lines, or "
                    "start a new run"
                )
    return ResumePlan(found, last_step, logged.torn)


def _spans(steps: list[int]) -> str:
    if not steps:
        return "none"
    return f"{len(steps)} lines from {steps[0]} to {steps[-1]}"


def differences(resume: ResumePlan) -> dict[str, Any]:
    """Return what a resumed run has to tell about where it goes on from."""
    return {
        "checkpoint": resume.found.directory.name,
        "checkpoint_step": resume.found.snapshot.step,
        "replayed_steps": resume.last_step - resume.found.snapshot.step,
        "rejected_checkpoints": [
            {"checkpoint": entry.directory.name, "reason": entry.reason}
            for entry in resume.found.rejected
        ],
        "torn_records": resume.torn_records,
    }
