"""Watching a run: its panel on the terminal, drawn anew when something changed, until it ends.

The terminal is given back as it was, however the watch ends. Nothing is written to the run, and a
run that is not there yet is waited for. What is shown belongs to `trainer.looking.panel`.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from gate.contract.paths import RunPaths
from trainer.looking.panel import panel
from trainer.looking.pulse import ENDED
from trainer.looking.reading import Reader
from trainer.run_folder import LaunchError, find_run

LOOK_S = 1.0
"""Seconds between two looks at the records."""
ONCE_HEIGHT = 60
"""Lines of a panel that is printed once."""
_GOODBYE = (signal.SIGTERM, signal.SIGHUP)


class Watcher:
    """One run, looked at again and again."""

    def __init__(self, name: str, runs: Path) -> None:
        """Look at nothing yet.

        Args:
            name: The run's folder, its id, or `latest`.
            runs: Folder that holds the runs.
        """
        self._name = name
        self._runs = runs
        self._reader: Reader | None = None
        self.ended = False
        """Whether the run had ended when it was last looked at."""

    def look(self, now: float, *, width: int, height: int) -> list[Text]:
        """Return what a terminal shows now; of a run that is not there, what is waited for.

        Args:
            now: Seconds since 1970.
            width: Columns of the terminal.
            height: Its lines.
        """
        if self._reader is None:
            paths = self._found()
            if paths is None:
                return [Text(f"waiting for run {self._name}: it is not there yet", "yellow")]
            self._reader = Reader(paths)
        reading = self._reader.read()
        self.ended = reading.status.get("phase") in ENDED
        return panel(reading, now, width=width, height=height)

    def _found(self) -> RunPaths | None:
        try:
            return find_run(self._name, self._runs)
        except LaunchError:
            return None


def once(console: Console, name: str, runs: Path, *, now: Callable[[], float] = time.time) -> None:
    """Print the panel of a run as it is now, and leave.

    Raises:
        LaunchError: if there is no such run.
    """
    find_run(name, runs)
    _print(console, Watcher(name, runs).look(now(), width=console.width, height=ONCE_HEIGHT))


def follow(
    console: Console, name: str, runs: Path, *, now: Callable[[], float] = time.time
) -> None:
    """Show the panel of a run until the run ends or somebody interrupts.

    Args:
        console: A terminal.
        name: The run's folder, its id, or `latest`.
        runs: Folder that holds the runs.
        now: Returns seconds since 1970.
    """
    watcher, woken = Watcher(name, runs), threading.Event()
    shown: list[Text] = []
    with _interrupts(woken), Live(console=console, screen=True, auto_refresh=False) as live:
        while not watcher.ended and not woken.is_set():
            width, height = console.size
            lines = watcher.look(now(), width=width, height=height - 1)
            foot = Text("Ctrl-C leaves; the run goes on", "dim", no_wrap=True)
            lines = [*lines, *[Text("")] * (height - 1 - len(lines)), foot]
            if lines != shown:
                live.update(Group(*lines), refresh=True)
                shown = lines
            woken.wait(LOOK_S)
    # The screen is gone with the watch: what was last to be seen stays.
    _print(console, watcher.look(now(), width=console.width, height=console.height - 1))


def _print(console: Console, lines: Sequence[Text]) -> None:
    for line in lines:
        console.print(line, no_wrap=True, overflow="ellipsis", crop=True)


@contextmanager
def _interrupts(woken: threading.Event) -> Generator[None]:
    """Let Ctrl-C and a kind kill end the block by an event, so that the terminal is given back."""

    def wake(_signum: int, _frame: FrameType | None) -> None:
        woken.set()

    before = {one: signal.signal(one, wake) for one in (signal.SIGINT, *_GOODBYE)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
