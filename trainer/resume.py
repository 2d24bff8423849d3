"""Resuming: from the last good checkpoint, through the steps already on file, to the present.

Steps after the checkpoint are replayed under the revisions that were in force, and compared with
what is on file: a run that was killed tells the same story as one that was not. After them the
knob files on disk count, and every difference between disk, ledger and checkpoint is told.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gate.contract import files, ledger
from gate.contract.paths import RunPaths
from trainer import checkpoint
from trainer.checkpoint import Found


class ResumePlan(NamedTuple):
    """Where a run goes on from."""

    found: Found
    last_step: int
    """The newest step on file; steps up to it are replayed."""
    torn_records: int
    """Lines of `steps.jsonl` that a crash cut short."""


class ResumeError(ValueError):
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
    lines = files.read_lines(paths.steps)
    steps = [int(record["step"]) for record in lines.records]
    if steps != list(range(1, len(steps) + 1)):
        raise ResumeError(
            f"{paths.steps}: steps 1 to {max(steps)} should each have one line, found {len(steps)} "
            "lines; restore the file, or start a new run"
        )
    if found.snapshot.step > len(steps):
        raise ResumeError(
            f"{found.directory} was written after step {found.snapshot.step}, but {paths.steps} "
            f"ends at step {len(steps)}; restore the file, or start a new run"
        )
    return ResumePlan(found, len(steps), lines.torn)


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
