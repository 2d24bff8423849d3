"""Planting a fault on purpose: what a demonstration or a study declared in its recipe.

A planted fault shows whether a run notices and mends one. It comes into force as a revision of
its own kind, so that every record tells it from an edit that somebody wanted; no rule is asked
and no test opens for it, since it is apparatus. Nothing but a launch record can ask for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gate.contract import files, knobs, revisions
from gate.contract.knobs import ABSENT, KnobChange
from gate.contract.ledger import Author, Revision, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import history, submission


def plant(
    run: RunPaths,
    values: Mapping[str, Any],
    *,
    reason: str,
    worlds: Sequence[str],
    step: int,
    now: float,
    timeout_s: float,
) -> Revision | None:
    """Bring the values of a planted fault into force, once.

    Args:
        run: The run.
        values: The faulty value of each knob, by path.
        reason: What is planted, in a sentence.
        worlds: Names of the run's worlds.
        step: The first training step under it.
        now: Seconds since 1970.
        timeout_s: How long to wait for the run's lock, in seconds.

    Returns:
        The revision; None if a fault was planted at that step already, as before a crash, or the
        values are in force.

    Raises:
        Refused: if a value is not valid, or a knob file holds an edit that nobody has looked at.
        files.LockBusy: if another process keeps the run's lock.
        ledger.Damaged: if the run's ledger cannot be trusted.
    """
    with files.run_lock(run.root, purpose=f"a fault planted at step {step}", timeout_s=timeout_s):
        revisions.recover(run, now=now)
        past = history.read(run.ledger, worlds=tuple(worlds))
        if any(one.kind is RevisionKind.PLANTED and one.step == step for one in past.revisions):
            return None
        current = past.knobs_by_revision[past.newest]
        asked = [KnobChange(path, ABSENT, value) for path, value in values.items()]
        changes = knobs.diff(current, knobs.apply(current, asked))
        if not changes:
            return None
        return revisions.commit(
            run,
            submission.edited_files(run, changes),
            author=Author.PERSON,
            reason=reason,
            kind=RevisionKind.PLANTED,
            changes=changes,
            step=step,
            now=now,
        )
