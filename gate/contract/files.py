"""Files of a run: whole or not at all, one line per append, one writer at a time.

A reader of a whole file sees the old bytes or the new ones; a reader of lines loses no record
to a line that a crash cut short. Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import filelock

BLOCK_BYTES = 1 << 16
"""How much `tail` reads at a time."""

MAX_LINE_BYTES = 1 << 24
"""A single line longer than this counts as torn when a file is read from its end."""

# EFBIG is what a process meets at its own file size limit: to the caller the same as a quota.
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class DiskFull(OSError):
    """No room for a file, by the disk, a quota or the process's own limit; names the file."""


class LockBusy(TimeoutError):
    """Somebody else holds the run's lock; names the holder."""


@dataclass(frozen=True)
class Lines:
    """What a file of JSON lines holds."""

    records: tuple[dict[str, Any], ...]
    """Every record that could be read, in the file's order."""
    torn: int = 0
    """Lines that hold no record: cut short by a crash, or not JSON objects."""
    mended: int = 0
    """Records kept although their line held NUL bytes, bad UTF-8 or a NaN token."""


def content_digest(content: bytes) -> str:
    """Return the sha256 of a file's bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def write_whole(path: Path, data: bytes, *, like: Path | None = None) -> None:
    """Replace a file so that no reader and no crash ever sees half of it.

    A symbolic link at `path` is replaced, not followed.

    Args:
        path: The file to make or replace; its directory exists.
        data: All its bytes.
        like: The file whose permissions it takes, where that exists; by default its own.

    Raises:
        DiskFull: if there is no room; the old file is untouched and no temporary file stays.
    """
    neighbour = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with room_for(path):
            _write_durably(neighbour, data, mode=_mode_of(like or path))
            os.replace(neighbour, path)
    except BaseException:
        neighbour.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def read_plain(path: Path, *, most: int) -> bytes:
    """Return the bytes of a plain file that somebody else may have put there.

    Nothing is waited for, and no link is followed in the last part of the path.

    Args:
        path: The file.
        most: Bytes that are of interest; of a longer file one byte more comes back.

    Raises:
        OSError: if it cannot be read, or is a link, a pipe, a device or a directory.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is a pipe or a device", str(path))
        return stream.read(most + 1)


def append_line(path: Path, record: Mapping[str, Any], *, durable: bool = False) -> bytes:
    """Append one record as one line in one write, creating the file if need be.

    A torn last line is ended first: the new record never joins it, and its bytes stay.

    Args:
        path: A file of JSON lines.
        record: JSON values; finite numbers only, so that every reader can parse the line.
        durable: Wait until the line is on the disk.

    Returns:
        The line as written, without its line end.

    Raises:
        DiskFull: if there is no room; a part of the line may be left, as a torn line.
        ValueError: if the record holds NaN or an infinity; nothing is written.
    """
    line = encode_line(record)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        with room_for(path):
            _write_all(descriptor, (b"\n" if torn else b"") + line + b"\n")
            if durable:
                os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if durable and size == 0:
        sync_directory(path.parent)
    return line


def encode_line(record: Mapping[str, Any]) -> bytes:
    """Return a record as the bytes of one line, without its line end.

    Raises:
        ValueError: if the record holds NaN or an infinity.
    """
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:
        raise ValueError(f"{error}: write null for a number that does not exist") from error
    # A lone surrogate is legal in a Python string and in JSON's escapes, but not in UTF-8.
    return text.encode("utf-8", errors="backslashreplace")


def read_lines(path: Path) -> Lines:
    """Read every record of a file of JSON lines; a missing file has none.

    No record is lost to the damage of another line: see `Lines.torn` and `Lines.mended`.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Lines(())
    return parse_lines(content.split(b"\n"))


def tail(path: Path, n: int) -> Lines:
    """Read the last `n` records in memory bounded by those records, not by the file.

    Only the lines that were looked at count in `Lines.torn` and `Lines.mended`.
    """
    found: list[bytes] = []
    records = 0
    for line in lines_from_the_end(path):
        if records >= n:
            break
        found.append(line)
        records += parse_line(line)[0] is not None
    return parse_lines(reversed(found))


def lines_from_the_end(path: Path) -> Iterator[bytes]:
    """Yield the raw lines of a file, the last one first; a missing file has none.

    A line longer than `MAX_LINE_BYTES` comes in pieces.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        position, pieces = os.fstat(descriptor).st_size, [b""]
        while position > 0:
            start = max(0, position - BLOCK_BYTES)
            first, *whole = os.pread(descriptor, position - start, start).split(b"\n")
            if whole:
                yield whole.pop() + b"".join(reversed(pieces))
                yield from reversed(whole)
                pieces = []
            pieces.append(first)
            if len(pieces) * BLOCK_BYTES > MAX_LINE_BYTES:
                yield b"".join(reversed(pieces))
                pieces = []
            position = start
        yield b"".join(reversed(pieces))
    finally:
        os.close(descriptor)


def parse_lines(lines: Iterable[bytes]) -> Lines:
    """Read records from raw lines without their line ends; empty lines count as nothing."""
    records: list[dict[str, Any]] = []
    torn = mended = 0
    for line in lines:
        if not line.strip():
            continue
        record, clean = parse_line(line)
        if record is None:
            torn += 1
        else:
            records.append(record)
            mended += not clean
    return Lines(tuple(records), torn, mended)


def parse_line(line: bytes) -> tuple[dict[str, Any] | None, bool]:
    """Read one raw line: its record, if it holds one, and whether the line was clean."""
    # After a power loss a file may hold a run of NULs where its last block was to be.
    bare = line.replace(b"\x00", b"")
    text = bare.decode("utf-8", errors="replace")
    strange: list[str] = []

    def constant(token: str) -> float:
        strange.append(token)
        return float(token)

    try:
        value: object = json.loads(text, parse_constant=constant)
    except (ValueError, RecursionError):
        return None, False
    if not isinstance(value, dict):
        return None, False
    clean = len(bare) == len(line) and not strange and text.encode() == bare
    return cast("dict[str, Any]", value), clean


@contextlib.contextmanager
def run_lock(
    run_dir: Path, *, purpose: str = "a change", timeout_s: float = 10.0
) -> Generator[None]:
    """Hold the one lock of a run; the same thread may enter again.

    The lock falls with the process that holds it, however that ends.

    Args:
        run_dir: The directory of the run, which must exist.
        purpose: What it is held for, told to whoever waits in vain.
        timeout_s: How long to wait for another holder, in seconds.

    Raises:
        LockBusy: if it is still held after the timeout.
        DiskFull: if there is no room for the lock's own file.
    """
    lock = filelock.FileLock(run_dir / ".lock", is_singleton=True)
    note = run_dir / ".lock.holder"
    try:
        with room_for(run_dir / ".lock"):
            lock.acquire(timeout=timeout_s)
    except filelock.Timeout as error:
        holder = note.read_text(errors="replace") if note.is_file() else "an unknown process"
        raise LockBusy(
            f"{run_dir}: {purpose} waited {timeout_s:g} s for the run's lock, held by {holder}; "
            "wait until it is done, or end that process and try again"
        ) from error
    try:
        if lock.lock_counter == 1:
            with room_for(note):
                note.write_text(f"process {os.getpid()} for {purpose}")
        yield
    finally:
        lock.release()


def sync_directory(directory: Path) -> None:
    """Make renames and new names in a directory survive a power loss."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def room_for(path: Path) -> Generator[None]:
    """Turn "no space left" inside the block into `DiskFull`, naming a path."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_SPACE:
            raise
        reason = f"{error.strerror}; free some space, the run goes on from there"
        raise DiskFull(error.errno, reason, str(path)) from error


def _mode_of(path: Path) -> int | None:
    try:
        return os.lstat(path).st_mode & 0o777 if not path.is_symlink() else None
    except FileNotFoundError:
        return None


def _write_durably(path: Path, data: bytes, *, mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    try:
        if mode is not None:
            os.fchmod(descriptor, mode)
        _write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    # A nearly full disk takes a part; only the next write says why it took no more.
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])
