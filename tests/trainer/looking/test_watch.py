"""A watch follows a run from before it is there until it ends, and gives the terminal back."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gate.contract import files
from gate.contract.paths import RunPaths
from tests.trainer.looking import mended_run
from tests.trainer.looking.mended_run import NOW
from trainer.cli import app
from trainer.looking.reading import Reader
from trainer.looking.watch import Watcher
from trainer.run_folder import LaunchError

PATIENCE_S = 60.0


def test_a_run_that_is_not_there_yet_is_waited_for(own: RunPaths) -> None:
    runs = own.root.parent
    watcher = Watcher("later", runs)
    (waiting,) = watcher.look(NOW, width=80, height=24)
    assert waiting.plain == "waiting for run later: it is not there yet"
    own.root.rename(runs / "later")
    assert watcher.look(NOW, width=80, height=24)[0].plain.startswith("later  training")
    assert not watcher.ended


def test_what_is_appended_is_seen_and_the_end_is_noticed(own: RunPaths) -> None:
    watcher = Watcher("mended", own.root.parent)
    assert "40 of 50" in watcher.look(NOW, width=80, height=24)[1].plain
    files.append_line(own.steps, mended_run.step(41))
    assert "41 of 50" in watcher.look(NOW, width=80, height=24)[1].plain
    mended_run.tell(own, phase="finished", step=50)
    watcher.look(NOW, width=80, height=24)
    assert watcher.ended


def test_a_line_that_is_being_written_is_read_once_it_is_whole(own: RunPaths) -> None:
    reader = Reader(own)
    line = files.encode_line(mended_run.step(41)) + b"\n"
    with own.steps.open("ab", buffering=0) as stream:
        stream.write(line[:50])
        assert reader.read().steps[-1]["step"] == 40
        stream.write(line[50:])
    assert reader.read().steps[-1]["step"] == 41
    assert reader.read().damage == ()


def test_records_that_were_replaced_are_read_anew(own: RunPaths) -> None:
    reader = Reader(own)
    assert len(reader.read().steps) == 40
    own.steps.unlink()
    assert reader.read().steps == ()
    files.append_line(own.steps, mended_run.step(1))
    assert [one["step"] for one in reader.read().steps] == [1]
    assert len(reader.read().events) == 5


def test_once_prints_a_finished_run_and_leaves(own: RunPaths) -> None:
    mended_run.tell(own, phase="finished")
    outcome = CliRunner().invoke(app, ["watch", str(own.root), "--once"])
    assert outcome.exit_code == 0
    assert outcome.output.startswith("mended  finished at ")
    assert "\x1b" not in outcome.output


def test_without_a_terminal_it_is_printed_once(own: RunPaths) -> None:
    outcome = CliRunner().invoke(app, ["watch", str(own.root)])
    assert outcome.exit_code == 0 and "40 of 50" in outcome.output


def test_once_knows_no_run_that_is_not_there(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(app, ["watch", "nowhere", "--once", "--runs", str(tmp_path)])
    assert isinstance(outcome.exception, LaunchError)


class Terminal:
    """A terminal of 80 by 24 whose screen is read as it is written."""

    def __init__(self) -> None:
        self._ours, self.device = pty.openpty()
        fcntl.ioctl(self.device, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.written = bytearray()
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def wait_for(self, words: bytes) -> bool:
        """Wait until something was written; False if it does not come."""
        ends = time.monotonic() + PATIENCE_S
        while words not in self.written and time.monotonic() < ends:
            time.sleep(0.05)
        return words in self.written

    def close(self) -> None:
        """Take the terminal away once everything is read."""
        os.close(self.device)
        self._reading.join()
        os.close(self._ours)

    def _read(self) -> None:
        # The last writer's end is an error here.
        with contextlib.suppress(OSError):
            while part := os.read(self._ours, 4096):
                self.written += part


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, None])
def test_the_terminal_is_given_back_as_it_was(own: RunPaths, how: signal.Signals | None) -> None:
    terminal = Terminal()
    before = termios.tcgetattr(terminal.device)
    child = subprocess.Popen(
        [sys.executable, "-m", "trainer", "watch", str(own.root)],
        stdin=terminal.device,
        stdout=terminal.device,
        stderr=terminal.device,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    try:
        assert terminal.wait_for(b"the run goes on"), bytes(terminal.written)
        if how is None:
            mended_run.tell(own, phase="finished")
        else:
            child.send_signal(how)
        assert child.wait(PATIENCE_S) == 0
        assert termios.tcgetattr(terminal.device) == before
    finally:
        child.kill()
        child.wait()
        terminal.close()
    written = bytes(terminal.written)
    assert written.count(b"\x1b[?1049h") == written.count(b"\x1b[?1049l") == 1
    assert written.rindex(b"\x1b[?25h") > written.rindex(b"\x1b[?25l")
    # What was last to be seen stays on the screen.
    assert b"mended" in written.split(b"\x1b[?1049l")[1]
