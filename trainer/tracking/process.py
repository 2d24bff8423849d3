"""The process of a follower: one for each tracker of a run, and it always comes to its end.

It ends with the run that it stands beside, when somebody asks, or when the run's records say that
nothing more will come; and a call of the tracker that does not come back ends it, too. What a
tracker raises goes to the log without the secrets of the environment.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from filelock import FileLock, Timeout

from gate.contract.files import DiskFull
from gate.contract.paths import RunPaths
from trainer.errors import Unusable
from trainer.looking.reading import Reading
from trainer.tracking import follower
from trainer.tracking.follower import Followed
from trainer.tracking.tracker import About, Tracker

POLL_S = 1.0
LONGEST_CALL_S = 300.0
"""Seconds after which a tracker that does not come back ends this process, with its stack."""
LOCK_S = 10.0
"""How long another follower may take to end, in seconds."""
MOST_FILE_BYTES = 512 << 20
"""How large any file of a follower may grow, its log too, on the disk that the run needs."""
NICENESS = 10
"""How far a follower stands back: the run comes first for the processor."""
SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""Parts of the names of variables whose values are printed nowhere."""


class Watched:
    """Whether a run is over, by its records or because somebody asks."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self._asked = threading.Event()

    def ask(self, _number: int, _frame: FrameType | None) -> None:
        """Note a signal that asks to end."""
        self._asked.set()

    def over(self, reading: Reading) -> str | None:
        """Return why it is over, None while it is not."""
        if self._asked.is_set():
            return "somebody asked to end"
        return follower.over(reading, time.time())

    def wait(self) -> None:
        """Wait until somebody asks, or for a moment."""
        self._asked.wait(POLL_S)


class Tether:
    """Whether a run is over that this process stands beside (see `trainer.tracking.beside`)."""

    def __init__(self, process: int, stream: int = 0) -> None:
        """Look at nothing yet.

        Args:
            process: The trainer's, which started this one.
            stream: A pipe that says nothing and closes with the trainer.
        """
        self._process = process
        self._stream = stream

    def over(self, _: Reading) -> str | None:
        """Return why it is over, None while it is not."""
        if os.getppid() != self._process:
            return "the trainer is gone"
        return "the run is over" if self._closed(0.0) else None

    def wait(self) -> None:
        """Wait until it is over, or for a moment."""
        self._closed(POLL_S)

    def _closed(self, seconds: float) -> bool:
        return bool(select.select([self._stream], [], [], seconds)[0])


class TrackerFailed(RuntimeError):
    """A tracker raised something; the message is its stack, without secrets."""


def follow(
    paths: RunPaths,
    open_tracker: Callable[[About, Path, int], Tracker],
    folder: Path,
    *,
    beside: int | None = None,
) -> Followed:
    """Follow a run in this process until it is over.

    Args:
        paths: The run.
        open_tracker: Opens the tracker.
        folder: The tracker's own; made if it is missing.
        beside: The process of the trainer that started this one; None for a follower by itself.

    Raises:
        Unusable: if another follower does that already, or the cursor is damaged.
        TrackerFailed: if the tracker raised something.
        gate.contract.files.DiskFull: if there is no room to note how far it has come.
    """
    folder.mkdir(parents=True, exist_ok=True)
    watched = Watched() if beside is None else Tether(beside)
    with _only_follower(folder), _signals(watched):
        try:
            return follower.follow(
                paths, open_tracker, folder, over=watched.over, wait=watched.wait, bound=bound
            )
        except (DiskFull, Unusable):
            raise
        except Exception as error:
            # It may quote what it was given, and the log is read by others.
            told = "".join(traceback.format_exception(error))
            raise TrackerFailed(without_secrets(told, os.environ)) from None


def stand_back(most_file_bytes: int = MOST_FILE_BYTES) -> None:
    """Leave the processor to the run, and bound every file that this process writes."""
    os.nice(NICENESS)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = most_file_bytes if hard == resource.RLIM_INFINITY else min(most_file_bytes, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))


@contextmanager
def bound(seconds: float = LONGEST_CALL_S) -> Generator[None]:
    """End this process with every thread's stack where the block takes too long.

    It works by a clock of the system's own, so code that never comes back to Python is ended, too.
    """
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or 2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def without_secrets(text: str, environment: Mapping[str, str]) -> str:
    """Return text without the values of variables that are secret, going by their names."""
    for name, value in environment.items():
        if value.strip() and any(part in name.upper() for part in SECRETS):
            text = text.replace(value, f"<{name}>")
    return text


@contextmanager
def _only_follower(folder: Path) -> Generator[None]:
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=LOCK_S)
    except Timeout as error:
        raise Unusable(
            f"another process follows this run into {folder.name}; let it, or end that one first"
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _signals(watched: Watched | Tether) -> Generator[None]:
    """Let Ctrl-C or a kind kill ask a follower by itself to end; the second one ends it."""
    if isinstance(watched, Tether):
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)

    def ask(number: int, frame: FrameType | None) -> None:
        watched.ask(number, frame)
        for one in numbers:
            signal.signal(one, signal.SIG_DFL)

    before = {one: signal.signal(one, ask) for one in numbers}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
