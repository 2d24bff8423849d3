"""The watched folder: where a run's `knobs/` leads, if a person chose a folder of their own.

Then `runs/<id>/knobs` is a link, and the launch record names the folder that it leads to. Only
there does anything of a run lie outside of it, so a link that the record does not name is never
written through. Who watches a folder is told in `gate.contract.watch_mark`; what its files mean is
not known here.
"""

from __future__ import annotations

import os
from pathlib import Path

from gate.contract import launch_record, watch_mark
from gate.contract.findings import Finding, Severity
from gate.contract.paths import OutsideRoot, RunPaths, inside

FOLDER = "knobs"
"""The part of a run that may lie elsewhere."""


def folder(run: RunPaths) -> Path:
    """Return the folder that holds a run's knob files, links followed; it need not exist.

    Raises:
        OutsideRoot: if it is outside of the run and the launch record does not name it.
    """
    if not run.knobs.is_symlink():
        return inside(run.root, FOLDER)
    named, found = launch_record.read(run.root).knobs, run.knobs.resolve()
    if named is not None and found == Path(named).resolve():
        return found
    launched = f"the run was launched to watch {named}" if named else "the run watches its own"
    raise OutsideRoot(
        f"{run.knobs} leads to {found}, and {launched}; "
        + (f"put the link back: ln -sfn {named} {run.knobs}" if named else "put its folder back")
    )


def elsewhere(run: RunPaths) -> Path | None:
    """Return the folder that a run watches in place of its own; None if it watches its own.

    Raises:
        OutsideRoot: as `folder` does.
    """
    return folder(run) if run.knobs.is_symlink() else None


def closed(run: RunPaths) -> Finding | None:
    """Return why no knob file of a run may be written now; None if that may be.

    Of a run's own folder nothing is asked: the run could not be written either.
    """
    try:
        place = elsewhere(run)
    except OutsideRoot as error:
        step = "A link that the launch did not make is never written through."
        return Finding("revision.foreign_folder", Severity.ERROR, f"{error}.", step, file=FOLDER)
    if place is None:
        return None
    other = watch_mark.holder(place)
    if other is not None and other.run != os.fspath(run.root.resolve()):
        message = f"{place}, which this run watches, is watched by {other} now."
        step = "Wait until that run has ended, or stop it."
        return Finding("revision.watched_elsewhere", Severity.ERROR, message, step, file=FOLDER)
    if not os.access(place, os.W_OK | os.X_OK):
        message = f"{place}, which this run watches, is not there or cannot be written."
        step = "Put it back and allow writing in it; a change that waits is tried at every step."
        return Finding("revision.unwritable", Severity.ERROR, message, step, file=FOLDER)
    return None
