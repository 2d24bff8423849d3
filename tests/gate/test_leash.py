"""A program on the leash ends at its deadline, when it says too much, and with its owner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate import leash

PYTHON = (sys.executable, "-c")


@pytest.fixture
def owner() -> Iterator[tuple[int, int]]:
    """Return both ends of what an owner holds open."""
    ours, theirs = os.pipe()
    yield ours, theirs
    os.close(ours)


def run(owner: int, code: str, *, seconds: float = 30.0, most: int = 1000) -> leash.Ended:
    return leash.run((*PYTHON, code), owner=owner, seconds=seconds, most=most)


def test_a_program_that_ends_by_itself_is_told_as_it_ended(owner: tuple[int, int]) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    assert run(owner[0], code) == (3, b"out\n", b"err\n")
    os.close(owner[1])


def test_a_program_is_ended_at_its_deadline(owner: tuple[int, int]) -> None:
    began = time.monotonic()
    ended = run(owner[0], "import time; print(1, flush=True); time.sleep(60)", seconds=0.5)
    assert (ended.how, ended.said) == ("took longer than 0.5 s", b"1\n")
    assert time.monotonic() - began < 20
    os.close(owner[1])


def test_a_program_that_closes_its_streams_and_stays_is_ended_too(owner: tuple[int, int]) -> None:
    code = "import os, time; os.close(1); os.close(2); time.sleep(60)"
    assert run(owner[0], code, seconds=0.5).how == "took longer than 0.5 s"
    os.close(owner[1])


def test_a_program_that_says_too_much_is_ended_and_cut(owner: tuple[int, int]) -> None:
    ended = run(owner[0], "while True: print('x' * 999)")
    assert (ended.how, len(ended.said)) == ("said more than 1000 bytes", 1000)
    os.close(owner[1])


def test_of_a_long_complaint_the_end_is_kept(owner: tuple[int, int]) -> None:
    ended = run(owner[0], "import sys; sys.stderr.write('x' * 100000 + 'why')")
    assert (ended.how, len(ended.complained), ended.complained[-3:]) == (0, 4000, b"why")
    os.close(owner[1])


def test_a_program_ends_with_its_owner(owner: tuple[int, int]) -> None:
    os.close(owner[1])
    assert run(owner[0], "import time; time.sleep(60)").how == "was ended with its owner"


def test_a_program_that_is_not_there_is_told(owner: tuple[int, int]) -> None:
    ended = leash.run(("/nowhere/at/all",), owner=owner[0], seconds=1.0, most=1)
    assert ended.how == "could not be started: No such file or directory"
    os.close(owner[1])


ORPHAN = """\
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"],
                         start_new_session=True, stdout=2)
print(child.pid)
"""


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_what_a_program_leaves_behind_is_ended_and_the_answer_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: tuple[int, int]
) -> None:
    answer = tmp_path / "answer.json"
    code = ORPHAN.replace("stdout=2", "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL")
    with open(owner[0], closefd=False) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert leash.main([str(answer), "30", "1000", *PYTHON, code]) == 0
    os.close(owner[1])
    told = json.loads(answer.read_bytes())
    assert told["ended"] == 0
    assert not alive(int(told["stdout"]))


def test_it_runs_as_a_program_and_ends_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    answer, pid = tmp_path / "answer.json", tmp_path / "pid"
    inner = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    leashed = [sys.executable, "-m", "gate.leash", str(answer), "60", "1000", *PYTHON, inner]
    outer = f"import subprocess, time\nsubprocess.Popen({leashed!r}, stdin=-1)\ntime.sleep(60)"
    starter = subprocess.Popen((*PYTHON, outer), cwd=Path(__file__).parents[2])
    until(lambda: pid.exists() and pid.read_text() != "")
    starter.kill()
    starter.wait()
    until(lambda: answer.exists())
    assert json.loads(answer.read_bytes())["ended"] == "was ended with its owner"
    until(lambda: not alive(int(pid.read_text())))


def until(holds: object, seconds: float = 30.0) -> None:
    """Wait until something holds, and fail if it never does."""
    assert callable(holds)
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.01)
