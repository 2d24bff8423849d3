"""Revisions: changes to a run's files that come into force as a whole or not at all.

One transaction under the run's lock: all new contents are staged, the ledger's `intent` line
names them by digest, the files are renamed into place, and the `committed` line ends it. Until
the intent is on the disk nothing happened; from then on `recover` finishes what a crash cut
short, so that a reader sees the old revision or the new one. Whether a change is a good one is
for `gate.rules`.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gate.contract import files, knobs, ledger, watched
from gate.contract.findings import Finding, Refused, Severity
from gate.contract.ledger import Author, EntryKind, Revision, RevisionKind
from gate.contract.paths import OutsideRoot, RunPaths, inside

NOT_NOW = frozenset(
    {
        "revision.unseen_edit",
        "revision.foreign_folder",
        "revision.watched_elsewhere",
        "revision.unwritable",
        knobs.UNREADABLE,
    }
)
"""Findings that say nothing against a change: its files cannot be written at this moment."""

Checkpoint = Callable[[str], None]
"""Told the name of each write once it is done; a test may end the process there."""


def unobserved(_: str) -> None:
    """Let every write pass: what a transaction does outside tests."""


def launch(
    run: RunPaths,
    contents: Mapping[str, bytes],
    values: knobs.Knobs,
    *,
    author: Author,
    reason: str,
    now: float,
    in_place: Mapping[str, str] | None = None,
) -> Revision:
    """Write revision 0: a run's first knob files and the line that begins its ledger.

    Args:
        run: The run; its directory exists.
        contents: The bytes of each file by its path within the run, as `knobs/user.yaml`.
        values: The knobs that those files hold.
        author: Who launched the run.
        reason: Why, in a sentence.
        now: Seconds since 1970.
        in_place: Files that are there already, in a folder that the run watches: the sha256 of
            each by path. They are not written.

    Raises:
        ValueError: if the run has a ledger with a launch already; nothing is written.
        DiskFull: if there is no room.
    """
    with files.run_lock(run.root, purpose="the launch"):
        if ledger.last_entry(run.ledger) is not None:
            raise ValueError(f"{run.ledger} has begun already; resume the run, or start another")
        written: list[dict[str, Any]] = []
        for name, data in contents.items():
            target = _target(run, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            files.write_whole(target, data)
            written.append({"path": name, "digest": files.content_digest(data)})
        written += [{"path": name, "digest": digest} for name, digest in (in_place or {}).items()]
        body = {
            "revision": 0,
            "origin": str(RevisionKind.LAUNCH),
            "author": str(author),
            "reason": reason,
            "knobs": values.to_json(),
            "files": written,
        }
        ledger.append(run.ledger, EntryKind.LAUNCH, body, step=0, now=now)
        return ledger.revisions(run.ledger)[-1]


def commit(
    run: RunPaths,
    contents: Mapping[str, bytes],
    *,
    author: Author,
    reason: str,
    kind: RevisionKind,
    changes: Sequence[knobs.KnobChange],
    step: int,
    now: float,
    in_place: Mapping[str, str] | None = None,
    details: Mapping[str, Any] | None = None,
    world: int | None = None,
    checkpoint: Checkpoint = unobserved,
) -> Revision:
    """Bring one revision into force, or leave everything as it was.

    Args:
        run: The run.
        contents: The new bytes of each file to write, by its path within the run.
        author: Who wants it.
        reason: Why, in a sentence; empty where nobody said.
        kind: By which door it came.
        changes: The knobs that move, old and new.
        step: The first training step under it.
        now: Seconds since 1970.
        in_place: Files that hold their new bytes already, as a person's save does: the sha256 of
            each by path. They are never written.
        details: What belongs to the kind, as `Revision.details` has it.
        world: The folder `world/NNNN` that comes into force: an earlier one, or its own number
            with all files of that folder in `contents`; None for the one in force.
        checkpoint: Told each write by name.

    Raises:
        Refused: by a finding of `NOT_NOW`, if a file to write was edited and nobody has looked
            at the edit yet, is a link, or lies in a watched folder that cannot be written now;
            nothing is written.
        OutsideRoot: if a path leads out of the run.
        DiskFull: if there is no room; the transaction can be recovered or never began.
        LockBusy: if another process keeps the run's lock.
    """
    with files.run_lock(run.root, purpose=f"a revision ({kind})"):
        recover(run, now=now)
        history = ledger.revisions(run.ledger)
        _refuse_unseen(run, contents, ledger.file_digests(history))
        number = ledger.next_revision(run.ledger)
        written = _stage(run, number, contents, checkpoint)
        written += [{"path": name, "digest": digest} for name, digest in (in_place or {}).items()]
        body: dict[str, Any] = {
            "revision": number,
            "base": history[-1].number,
            "origin": str(kind),
            "author": str(author),
            "reason": reason,
            "changes": [change.to_json() for change in changes],
            "files": written,
        }
        if world is not None:
            body["world"] = world
        if details:
            body["details"] = dict(details)
        ledger.append(run.ledger, EntryKind.INTENT, body, step=step, now=now)
        checkpoint("intent")
        recover(run, now=now, checkpoint=checkpoint)
        return ledger.revisions(run.ledger)[-1]


def recover(
    run: RunPaths, *, now: float, step: int | None = None, checkpoint: Checkpoint = unobserved
) -> Revision | None:
    """Finish a revision that was interrupted after its intent; drop one that had none.

    A file that somebody edited in between is left alone: the next step boundary looks at it as
    at any edit.

    Args:
        run: The run.
        now: Seconds since 1970.
        step: The first training step under it; by default the one it was meant for.
        checkpoint: Told each write by name.

    Returns:
        The revision that came into force by this call; None if there was none to finish, or what
        it would have written is lost and the ledger now says so.
    """
    with files.run_lock(run.root, purpose="recovery"):
        entry = ledger.pending(run.ledger)
        if entry is None:
            _clear_staging(run)
            return None
        outcome, left = _roll_forward(run, entry.body["files"], checkpoint)
        body: dict[str, Any] = {"revision": entry.body["revision"]}
        if left:
            body["left"] = left
        started = entry.step if step is None else step
        ledger.append(run.ledger, outcome, body, step=started, now=now)
        checkpoint(str(outcome))
        _clear_staging(run)
        checkpoint("cleared")
        if outcome is EntryKind.ABANDONED:
            return None
        return ledger.revisions(run.ledger)[-1]


def digest_of(path: Path) -> str | None:
    """Return the sha256 of a file, links followed; None where there is none to read.

    A pipe or a device in its place is not waited for.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as stream:
            return files.content_digest(stream.read())
    finally:
        os.close(descriptor)


def _target(run: RunPaths, name: str) -> Path:
    # The last part is not followed: a rename replaces a link, it does not write through it.
    relative = Path(name)
    if relative.is_absolute() or relative.name in ("", ".."):
        raise OutsideRoot(f"{name!r} names no file inside {run.root}; give a relative path")
    if _is_knob_file(name):
        return watched.folder(run) / relative.name
    return inside(run.root, relative.parent) / relative.name


def _refuse_unseen(run: RunPaths, contents: Mapping[str, bytes], seen: Mapping[str, str]) -> None:
    findings: list[Finding] = []
    if any(_is_knob_file(name) for name in contents):
        closed = watched.closed(run)
        if closed is not None:
            raise Refused([closed])
    for name in contents:
        target = _target(run, name)
        if target.is_symlink():
            message = f"{name} is a link to {os.readlink(target)}, and writing would replace it."
            step = "Edit the file it leads to; the run follows the link."
        elif digest_of(target) != seen.get(name):
            message = f"{name} is not what the run last adopted: an edit of it was not taken up."
            step = "Wait for the next step, or mend the file, and then try again."
        else:
            continue
        findings.append(Finding("revision.unseen_edit", Severity.ERROR, message, step, file=name))
    if findings:
        raise Refused(findings)


def _stage(
    run: RunPaths, number: int, contents: Mapping[str, bytes], checkpoint: Checkpoint
) -> list[dict[str, Any]]:
    written: list[dict[str, Any]] = []
    directory = run.staging / f"{number:06d}"
    if contents:
        with files.room_for(directory):
            directory.mkdir(parents=True)
        files.sync_directory(run.root)
        files.sync_directory(run.staging)
        checkpoint("staging")
    for index, (name, data) in enumerate(contents.items()):
        target = _target(run, name)
        staged = directory / f"{index:02d}-{target.name}"
        files.write_whole(staged, data, like=target)
        checkpoint(f"staged {name}")
        written.append(
            {
                "path": name,
                "digest": files.content_digest(data),
                "was": digest_of(target),
                "staged": str(staged.relative_to(run.root)),
            }
        )
    return written


def _roll_forward(
    run: RunPaths, written: Sequence[Mapping[str, Any]], checkpoint: Checkpoint
) -> tuple[EntryKind, list[str]]:
    moves: list[tuple[Path, Path, str]] = []
    left: list[str] = []
    for record in written:
        if "staged" not in record:
            continue
        target, staged = _target(run, record["path"]), inside(run.root, record["staged"])
        current = digest_of(target)
        if current == record["digest"]:
            continue
        if current != record["was"]:
            left.append(record["path"])
        elif digest_of(staged) != record["digest"]:
            return EntryKind.ABANDONED, [record["path"]]
        else:
            moves.append((staged, target, record["path"]))
    for staged, target, name in moves:
        if not _move(staged, target, elsewhere=_is_knob_file(name) and run.knobs.is_symlink()):
            left.append(name)
        checkpoint(f"renamed {name}")
    return EntryKind.COMMITTED, left


def _move(staged: Path, target: Path, *, elsewhere: bool) -> bool:
    """Bring a staged file to its place; False if it lies elsewhere and nothing can be written."""
    if not elsewhere:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(staged, target)
        files.sync_directory(target.parent)
        return True
    try:
        # A watched folder may lie on another file system, where no rename leads.
        files.write_whole(target, staged.read_bytes(), like=staged)
    except files.DiskFull:
        raise
    except OSError:
        return False
    return True


def _is_knob_file(name: str) -> bool:
    return Path(name).parent == Path(watched.FOLDER)


def _clear_staging(run: RunPaths) -> None:
    if run.staging.exists():
        shutil.rmtree(run.staging)
