"""Setting one knob of a run from a program, without losing anything else in its file.

The file is read, edited in place with its comments, checked and committed under the run's lock.
A file that cannot be read, or holds an edit that nobody has looked at, is never written over.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gate import rules
from gate.contract import files, knobs, launch_record, revisions
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.knobs import ABSENT, KnobChange, Knobs
from gate.contract.ledger import Author, Revision, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import history
from gate.guard.inspection import evidence
from gate.guard.looking import Trouble, look
from gate.rules.change_set import ChangeSet


@dataclass(frozen=True)
class Setting:
    """What became of one command."""

    revision: Revision | None
    """The revision that it made; None when the knob had that value already."""
    warnings: tuple[Finding, ...] = ()


def set_knob(
    run: RunPaths,
    path: str,
    value: Any,
    *,
    reason: str,
    worlds: Sequence[str],
    now: float,
    timeout_s: float,
) -> Setting:
    """Give one knob of a run another value.

    Args:
        run: The run.
        path: The knob, as `user.max_reveals` or `user.worlds.travel.max_reveals`.
        value: Its new value, as JSON.
        reason: Why, in a sentence.
        worlds: Names of the run's worlds.
        now: Seconds since 1970.
        timeout_s: How long to wait for the run's lock, in seconds.

    Raises:
        Refused: with every finding, if the change is not allowed or the file is not in a state
            to be edited; nothing was written.
        files.LockBusy: if another process keeps the run's lock.
        ledger.Damaged: if the run's ledger cannot be trusted.
    """
    change = KnobChange(path, ABSENT, value)
    if change.knob not in knobs.specs():
        raise Refused(rules.RULES["declared"](ChangeSet(knobs.defaults(), changes=[change])))
    with files.run_lock(run.root, purpose=f"gate set {path}", timeout_s=timeout_s):
        revisions.recover(run, now=now)
        past = history.read(run.ledger, worlds=tuple(worlds))
        current = past.knobs_by_revision[past.newest]
        name = knobs.specs()[change.knob].file
        content = look(os.fspath(run.knob_file(name)))
        if isinstance(content, Trouble):
            raise Refused([knobs.unreadable_file(run.knob_file(name), content.error)])
        knobs.parse(name, content, worlds=worlds)
        edited = knobs.edit(name, content, [change])
        parsed = knobs.parse(name, edited, worlds=worlds)
        new = Knobs({**current.values, name: parsed.values})
        changes = knobs.diff(current, new)
        if not changes:
            return Setting(None)
        seen = evidence(run)
        findings = rules.check(
            ChangeSet(
                old=current,
                new=new,
                changes=changes,
                author=Author.UNATTRIBUTED,
                reason=reason,
                step=seen.step + 1,
                success_history=seen.success_history,
                last_written=past.since_step(past.newest),
                windows=past.windows(seen.step + 1),
                credit=launch_record.credit(run.root),
            )
        )
        if any(finding.severity is Severity.ERROR for finding in findings):
            raise Refused(findings)
        made = revisions.commit(
            run,
            {f"knobs/{name}.yaml": edited},
            author=Author.UNATTRIBUTED,
            reason=reason,
            kind=RevisionKind.COMMAND,
            changes=changes,
            step=seen.step + 1,
            now=now,
        )
        return Setting(made, findings)
