"""Nothing that a client starts outlives its session, and whatever would have is told."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from tests.agents import keeper

ENV = {"PATH": "/usr/bin:/bin"}


def test_a_process_that_left_its_parent_is_found_and_ended(tmp_path: Path) -> None:
    script = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        " start_new_session=True)\n"
        "print(child.pid)"
    )
    found = keeper.run([sys.executable, "-c", script], cwd=tmp_path, env=ENV, timeout_s=30)
    assert found.code == 0
    assert len(found.left) == 1 and "time.sleep(600)" in found.left[0]
    assert not _alive(int(found.out))


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "echo $$; sleep 600 & sleep 600"]
    start = time.monotonic()
    found = keeper.run(command, cwd=tmp_path, env=ENV, timeout_s=0.5)
    assert found.code is None
    assert time.monotonic() - start < 10
    assert not _alive(int(found.out))


def test_what_a_command_says_and_how_it_ends_is_told(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "pwd; echo $HOME; echo oh >&2; exit 3"]
    found = keeper.run(command, cwd=tmp_path, env=ENV, timeout_s=30)
    assert (found.code, found.left) == (3, ())
    assert found.out.split() == [str(tmp_path)], "nothing of our own environment reaches it"
    assert found.err == "oh\n"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
