"""Live knobs: the values in force in a running trainer, refreshed at step boundaries.

The guard decides what comes into force; this is the trainer's view of it. Notifications from the
file system only end an idle wait early: what counts is what `reconcile` finds in the files.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from gate.contract.knobs import Knobs
from gate.contract.paths import RunPaths
from gate.guard import Condition, Guard, KnobStatus, OpenTest, Prober

# Reading a file is an event too; only these can have changed what it says.
_CHANGES = frozenset({"created", "modified", "moved", "deleted"})


class LiveKnobs:
    """The knobs in force in one run."""

    def __init__(
        self, paths: RunPaths, *, worlds: Sequence[str], prober: Prober | None = None
    ) -> None:
        """Open the run's knobs as its ledger has them in force (see `Guard.open`).

        Args:
            paths: The run; its ledger begins with a launch.
            worlds: Names of the run's worlds.
            prober: Probes beside the training what proposals would change in a dialogue; without
                one, none of them changes a world.
        """
        self._directory = paths.knobs
        self._guard = Guard.open(paths, worlds=worlds, prober=prober)

    @property
    def current(self) -> Knobs:
        """The knobs in force."""
        return self._guard.status.knobs

    @property
    def revision(self) -> int:
        """The revision in force."""
        return self._guard.status.revision

    def in_force_since(self, path: str) -> int:
        """Return the first step under a knob's present value; 0 if it is the launch value.

        Args:
            path: The knob as written, such as `user.worlds.travel.max_reveals`.
        """
        return self._guard.status.since_step.get(path, 0)

    def condition(self, revision: int) -> Condition:
        """Return everything that an episode of one revision of the run is played under.

        Raises:
            ValueError: if the run has no such revision.
        """
        return self._guard.condition(revision)

    def reconcile(
        self, step: int, *, success_history: Sequence[float | None], now: float
    ) -> KnobStatus:
        """Return the knobs of the step about to begin, the files on disk taken into account.

        Args:
            step: Number of the step, from 1.
            success_history: Mean success of the anchors of the last steps, oldest first; None
                where a step had none.
            now: Seconds since 1970.
        """
        return self._guard.reconcile(step, success_history=success_history, now=now)

    def replay(self, logged: Mapping[str, Any]) -> KnobStatus:
        """Return what was in force in a recorded step, for a step that is run again.

        Args:
            logged: The step's record.

        Raises:
            ValueError: if the run has no such revision.
        """
        status = self._guard.return_to(int(logged["revision"]))
        old = logged.get("old_revision")
        if old is None:
            return status
        test = OpenTest(
            number=int(logged["test"]),
            old=self.condition(int(old)),
            new=self.condition(status.revision),
            new_share=float(logged["new_share"]),
        )
        return replace(status, test=test)

    def close(self) -> None:
        """End a probe that is under way."""
        self._guard.close()

    @contextmanager
    def watch(self) -> Generator[Watch]:
        """Give a `Watch` over the knob files for the length of the block."""
        with watching(self._directory) as watch:
            yield watch


class Watch(FileSystemEventHandler):
    """Wakes whoever waits when something happens to a directory; it may miss or invent events."""

    def __init__(self) -> None:
        self._happened = threading.Event()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Note an event; called by the observer's thread."""
        if event.event_type in _CHANGES:
            self._happened.set()

    def wait_for_change(self, timeout_s: float) -> bool:
        """Wait until something happened since the last call, or for some seconds.

        Returns:
            True when something happened; look at the files either way.
        """
        happened = self._happened.wait(timeout_s)
        self._happened.clear()
        return happened


@contextmanager
def watching(directory: Path) -> Generator[Watch]:
    """Give a `Watch` over the files of a directory for the length of the block.

    Where the system grants no notifications, the watch only ever times out.
    """
    watch, observer = Watch(), Observer()
    try:
        observer.schedule(watch, str(directory))
        observer.start()
        granted = True
    except OSError:
        # No watch left for this user, or no directory: waiting by the clock is enough.
        granted = False
    try:
        yield watch
    finally:
        if granted:
            observer.stop()
            observer.join()
