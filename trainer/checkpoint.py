"""Checkpoints: complete or not there at all.

A checkpoint is a folder that is written under another name, listed part by part with size and
sha256 in its manifest, and renamed last. A reader trusts nothing but a manifest that every part
agrees with, and falls back to the newest checkpoint that is whole. This module knows nothing
about what the learner's parts mean.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gate.contract import files
from gate.contract.paths import RunPaths
from trainer.errors import Unusable
from trainer.rollout.schedule import TaskCursor

FORMAT = 1
MANIFEST = "manifest.json"
STATE = "state.json"
_PREFIX = "step-"
_READ_BYTES = 1 << 20
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CheckpointError(Unusable):
    """No checkpoint can be used; the message names each one and what is wrong with it."""


@dataclass(frozen=True)
class Snapshot:
    """The trainer's own state after a step, beside what the learner saves."""

    step: int = 0
    revision: int = 0
    cursor: TaskCursor = TaskCursor()
    anchor_success: tuple[float | None, ...] = ()
    """Mean success of the anchors of the newest steps, oldest first, None where a step had none;
    what the difficulty rule looks at."""
    faults_in_a_row: int = 0
    """Quarantined episodes up to the newest one, without a break."""
    action_tokens: int = 0
    """Tokens that the policy has written so far."""

    def to_json(self) -> dict[str, Any]:
        """Return the snapshot as JSON values; `snapshot_from_json` is its inverse."""
        return {
            "step": self.step,
            "revision": self.revision,
            "cursor": dict(self.cursor.drawn),
            "anchor_success": list(self.anchor_success),
            "faults_in_a_row": self.faults_in_a_row,
            "action_tokens": self.action_tokens,
        }


class Rejected(NamedTuple):
    """A checkpoint that must not be used."""

    directory: Path
    reason: str


class Found(NamedTuple):
    """The newest whole checkpoint, and newer ones that are not."""

    directory: Path
    snapshot: Snapshot
    rejected: tuple[Rejected, ...]


def snapshot_from_json(values: Mapping[str, Any]) -> Snapshot:
    """Build a snapshot from what `Snapshot.to_json` returned."""
    return Snapshot(
        step=int(values["step"]),
        revision=int(values["revision"]),
        cursor=TaskCursor({str(key): int(count) for key, count in values["cursor"].items()}),
        anchor_success=tuple(
            None if value is None else float(value) for value in values.get("anchor_success", ())
        ),
        faults_in_a_row=int(values.get("faults_in_a_row", 0)),
        action_tokens=int(values.get("action_tokens", 0)),
    )


def save(
    directory: Path, snapshot: Snapshot, writers: Mapping[str, Callable[[Path], None]]
) -> None:
    """Write a checkpoint that is either complete or not there.

    Args:
        directory: Its final place, such as `checkpoints/step-000010`; an older one there goes.
        snapshot: The trainer's own state.
        writers: By part, such as `learner`, what fills the part's empty folder.

    Raises:
        files.DiskFull: if there is no room; nothing of the attempt is left behind.
    """
    partial = directory.with_name(f".{directory.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        for part, write in writers.items():
            (partial / part).mkdir()
            write(partial / part)
        files.write_whole(partial / STATE, _json(snapshot.to_json()))
        manifest = {"format": FORMAT, "step": snapshot.step, "parts": _measure(partial)}
        files.write_whole(partial / MANIFEST, _json(manifest))
        if directory.exists():
            shutil.rmtree(directory)
        os.replace(partial, directory)
        files.sync_directory(directory.parent)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        full = _as_disk_full(error, directory)
        if full is not None:
            raise full from error
        raise


def problem(directory: Path) -> str | None:
    """Return what is wrong with a checkpoint, or None when every part is as it was written."""
    try:
        manifest = json.loads((directory / MANIFEST).read_bytes())
        if manifest["format"] != FORMAT:
            return f"it has format {manifest['format']}; this program reads {FORMAT}"
        parts = {
            str(name): (int(expected["bytes"]), str(expected["sha256"]))
            for name, expected in manifest["parts"].items()
        }
    except FileNotFoundError:
        return f"{MANIFEST} is missing: it was never finished"
    except OSError as error:
        return f"{MANIFEST} cannot be read ({error.strerror})"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"{MANIFEST} is damaged ({error})"
    for name, (num_bytes, digest) in sorted(parts.items()):
        path = directory / name
        if not path.is_file():
            return f"part {name} is missing"
        size = path.stat().st_size
        if size != num_bytes:
            return f"part {name} has {size} bytes instead of {num_bytes}"
        if _sha256(path) != digest:
            return f"part {name} was changed after it was written"
    return None if STATE in parts else f"part {STATE} is missing"


def newest(checkpoints: Path) -> Found:
    """Return the newest whole checkpoint of a run.

    Raises:
        CheckpointError: if there is none, naming each candidate and its fault.
    """
    rejected: list[Rejected] = []
    for directory in reversed(_all(checkpoints)):
        fault = problem(directory)
        if fault is None:
            state = json.loads((directory / STATE).read_bytes())
            return Found(directory, snapshot_from_json(state), tuple(rejected))
        rejected.append(Rejected(directory, fault))
    told = "; ".join(f"{entry.directory.name}: {entry.reason}" for entry in rejected)
    raise CheckpointError(
        f"{checkpoints}: no whole checkpoint to go on from ({told or 'the folder is empty'}); "
        "start a new run with `eau train`"
    )


def chosen(run: RunPaths, step: int | None) -> Path:
    """Return the directory of a run's checkpoint after a training step, or of its newest whole one.

    Args:
        run: The run.
        step: The training step; None for the newest.

    Raises:
        CheckpointError: if it is not there or not whole.
    """
    if step is None:
        return newest(run.checkpoints).directory
    directory = run.checkpoint(step)
    fault = problem(directory)
    if fault is not None:
        raise CheckpointError(f"{directory}: {fault}; choose another --checkpoint")
    return directory


def prune(checkpoints: Path, keep: int) -> None:
    """Remove all but the newest checkpoints; one that somebody else removed is no fault.

    The checkpoint of step 0 stays: it is what a finished run is compared with.
    """
    present = [path for path in _all(checkpoints) if path.name != f"{_PREFIX}{0:06d}"]
    for directory in present[: max(len(present) - keep, 0)]:
        shutil.rmtree(directory, ignore_errors=True)


def clear_unfinished(checkpoints: Path) -> None:
    """Remove what a killed process left of checkpoints that it never finished."""
    for partial in checkpoints.glob(f".{_PREFIX}*.partial"):
        shutil.rmtree(partial, ignore_errors=True)


def _all(checkpoints: Path) -> list[Path]:
    if not checkpoints.is_dir():
        return []
    return sorted(path for path in checkpoints.iterdir() if path.name.startswith(_PREFIX))


def _measure(directory: Path) -> dict[str, dict[str, Any]]:
    """Return size and digest of every file, each of them on the disk for good."""
    parts: dict[str, dict[str, Any]] = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            name = path.relative_to(directory).as_posix()
            parts[name] = {"bytes": path.stat().st_size, "sha256": _sha256(path)}
        else:
            files.sync_directory(path)
    return parts


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _as_disk_full(error: BaseException, directory: Path) -> files.DiskFull | None:
    """Return the error as `DiskFull` if that is what it means, whoever raised it."""
    if isinstance(error, files.DiskFull):
        return None
    number = error.errno if isinstance(error, OSError) else None
    # safetensors reports the system's error only inside its message.
    told = [code for code in _NO_SPACE if f"(os error {code})" in str(error)]
    if number not in _NO_SPACE and not told:
        return None
    reason = "no room for a checkpoint; free some space, or lower checkpoint.keep"
    return files.DiskFull(number or told[0], reason, str(directory))


def _json(values: Mapping[str, Any]) -> bytes:
    return (json.dumps(values, indent=1, sort_keys=True) + "\n").encode()
