"""Each line of the step records is read once, a torn one when it is whole."""

from __future__ import annotations

from pathlib import Path

from gate.contract import files
from gate.guard.step_memory import StepMemory


def steps(memory: StepMemory) -> list[int]:
    return [point.step for point in memory.points]


def log(path: Path, first: int, last: int) -> None:
    for step in range(first, last + 1):
        files.append_line(path, {"step": step, "revision": 0})


def test_what_was_appended_is_added(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    memory = StepMemory(path)
    memory.follow(1)
    assert steps(memory) == []
    log(path, 1, 3)
    memory.follow(1)
    log(path, 4, 4)
    memory.follow(1)
    memory.follow(1)
    assert steps(memory) == [1, 2, 3, 4]


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    log(path, 1, 2)
    memory = StepMemory(path)
    memory.follow(1)
    whole = files.encode_line({"step": 3})
    with path.open("ab", buffering=0) as stream:
        stream.write(whole[:5])
        memory.follow(1)
        assert steps(memory) == [1, 2]
        stream.write(whole[5:] + b"\n")
    memory.follow(1)
    assert steps(memory) == [1, 2, 3]


def test_a_line_that_was_torn_at_the_first_look_is_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    log(path, 1, 2)
    with path.open("ab") as stream:
        stream.write(b'{"step": 3, "revi')
    memory = StepMemory(path)
    memory.follow(1)
    assert steps(memory) == [1, 2]
    log(path, 3, 3)
    memory.follow(1)
    assert steps(memory) == [1, 2, 3]


def test_only_what_is_of_interest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    log(path, 1, 50)
    files.append_line(path, {"note": "no step"})
    memory = StepMemory(path)
    memory.follow(40)
    assert steps(memory) == list(range(40, 51))
    memory.follow(45)
    assert steps(memory) == list(range(45, 51))
    memory.follow(30)
    assert steps(memory) == list(range(30, 51))


def test_a_file_that_was_put_back_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    log(path, 1, 5)
    memory = StepMemory(path)
    memory.follow(1)
    path.write_bytes(b"")
    log(path, 1, 2)
    memory.follow(1)
    assert steps(memory) == [1, 2]
