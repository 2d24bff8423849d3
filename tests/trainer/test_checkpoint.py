"""A checkpoint is complete or not there at all, and only a complete one is used."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.contract.files import DiskFull
from tests import live_run
from trainer import checkpoint
from trainer.checkpoint import CheckpointError, Snapshot, snapshot_from_json
from trainer.rollout.schedule import TaskCursor

SNAPSHOT = Snapshot(
    step=4,
    revision=2,
    cursor=TaskCursor({"travel": 16}),
    anchor_success=(0.25, None, 0.5),
    faults_in_a_row=3,
)


def write_weights(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(bytes(range(256)) * 16)
    (folder / "deeper").mkdir()
    (folder / "deeper" / "more.bin").write_bytes(b"more")


def write_notes(folder: Path) -> None:
    (folder / "name.txt").write_text("small")


PARTS = {"learner": write_weights, "policy": write_notes}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints" / "step-000004"


@pytest.fixture
def saved(place: Path) -> Path:
    checkpoint.save(place, SNAPSHOT, PARTS)
    return place


def test_a_snapshot_comes_back_as_it_was() -> None:
    assert snapshot_from_json(json.loads(json.dumps(SNAPSHOT.to_json()))) == SNAPSHOT


def test_what_was_saved_is_found_and_whole(saved: Path) -> None:
    assert checkpoint.problem(saved) is None
    found = checkpoint.newest(saved.parent)
    assert (found.directory, found.snapshot, found.rejected) == (saved, SNAPSHOT, ())
    assert [path.name for path in saved.parent.iterdir()] == ["step-000004"]


def cut(saved: Path) -> str:
    part = saved / "learner" / "weights.bin"
    part.write_bytes(part.read_bytes()[:1000])
    return "part learner/weights.bin has 1000 bytes instead of 4096"


def lose_a_part(saved: Path) -> str:
    (saved / "learner" / "deeper" / "more.bin").unlink()
    return "part learner/deeper/more.bin is missing"


def lose_the_marker(saved: Path) -> str:
    (saved / "manifest.json").unlink()
    return "manifest.json is missing: it was never finished"


def change_a_byte(saved: Path) -> str:
    (saved / "policy" / "name.txt").write_text("smalL")
    return "part policy/name.txt was changed after it was written"


def cut_the_marker(saved: Path) -> str:
    marker = saved / "manifest.json"
    marker.write_bytes(marker.read_bytes()[:-20])
    return "manifest.json is damaged"


def list_for_a_marker(saved: Path) -> str:
    (saved / "manifest.json").write_text('{"format": 1, "parts": ["a"]}')
    return "manifest.json is damaged"


def come_from_the_future(saved: Path) -> str:
    (saved / "manifest.json").write_text('{"format": 99, "parts": {}}')
    return "it has format 99; this program reads 1"


def name_no_state(saved: Path) -> str:
    (saved / "manifest.json").write_text('{"format": 1, "parts": {}}')
    return "part state.json is missing"


def become_a_file(saved: Path) -> str:
    shutil.rmtree(saved)
    saved.write_text("")
    return "manifest.json cannot be read (Not a directory)"


SPOILERS = (
    cut,
    lose_a_part,
    lose_the_marker,
    change_a_byte,
    cut_the_marker,
    list_for_a_marker,
    come_from_the_future,
    name_no_state,
    become_a_file,
)


@pytest.mark.parametrize("spoil", SPOILERS)
def test_a_spoilt_checkpoint_is_passed_over_with_its_reason(
    saved: Path, spoil: Callable[[Path], str]
) -> None:
    older = saved.with_name("step-000002")
    checkpoint.save(older, Snapshot(step=2), PARTS)
    reason = spoil(saved)
    found = checkpoint.newest(saved.parent)
    assert found.directory == older
    ((rejected, told),) = found.rejected
    assert rejected == saved and reason in told


def test_when_none_is_whole_each_is_named_with_its_fault(saved: Path) -> None:
    checkpoint.save(saved.with_name("step-000002"), Snapshot(step=2), PARTS)
    reasons = [cut(saved), lose_a_part(saved.with_name("step-000002"))]
    with pytest.raises(CheckpointError) as refused:
        checkpoint.newest(saved.parent)
    for expected in ("step-000004", "step-000002", *reasons):
        assert expected in str(refused.value)


def test_an_empty_folder_and_strange_names_are_no_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "12").mkdir()
    (tmp_path / ".step-000003.partial").mkdir()
    with pytest.raises(CheckpointError, match="the folder is empty"):
        checkpoint.newest(tmp_path)
    with pytest.raises(CheckpointError, match="the folder is empty"):
        checkpoint.newest(tmp_path / "nowhere")


def fails(folder: Path) -> None:
    (folder / "half.bin").write_bytes(b"half")
    raise RuntimeError("out of luck")


def finds_no_room(folder: Path) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def finds_no_quota(folder: Path) -> None:
    raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


def tells_of_no_room(folder: Path) -> None:
    raise RuntimeError("Error while serializing: I/O error: no space (os error 28)")


def test_a_writer_that_fails_leaves_nothing_and_the_old_ones(saved: Path) -> None:
    with pytest.raises(RuntimeError, match="out of luck"):
        checkpoint.save(saved.with_name("step-000006"), Snapshot(step=6), {"learner": fails})
    assert [path.name for path in saved.parent.iterdir()] == ["step-000004"]


@pytest.mark.parametrize("writer", [finds_no_room, finds_no_quota, tells_of_no_room])
def test_no_room_is_told_as_such_whoever_found_it(
    place: Path, writer: Callable[[Path], None]
) -> None:
    with pytest.raises(DiskFull, match="no room for a checkpoint; free some space"):
        checkpoint.save(place, SNAPSHOT, {"policy": write_notes, "learner": writer})
    assert list(place.parent.iterdir()) == []


def test_a_limit_on_files_counts_as_no_room(place: Path) -> None:
    with live_run.file_size_limit(1000), pytest.raises(DiskFull):
        checkpoint.save(place, SNAPSHOT, PARTS)
    assert list(place.parent.iterdir()) == []


def test_what_an_earlier_attempt_left_does_not_get_in(place: Path) -> None:
    leftover = place.with_name(".step-000004.partial") / "learner"
    leftover.mkdir(parents=True)
    (leftover / "old.bin").write_bytes(b"old")
    checkpoint.save(place, SNAPSHOT, PARTS)
    assert not (place / "learner" / "old.bin").exists()
    assert checkpoint.problem(place) is None


def test_the_newest_are_kept_and_the_first_stays(tmp_path: Path) -> None:
    for step in range(0, 12, 2):
        checkpoint.save(tmp_path / f"step-{step:06d}", Snapshot(step=step), PARTS)
    checkpoint.prune(tmp_path, keep=2)
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["step-000000", "step-000008", "step-000010"]


def test_a_checkpoint_that_somebody_else_removes_is_no_fault(tmp_path: Path) -> None:
    for step in (2, 4, 6):
        checkpoint.save(tmp_path / f"step-{step:06d}", Snapshot(step=step), PARTS)
    (tmp_path / "step-000002").rename(tmp_path / "gone")
    (tmp_path / "step-000002").symlink_to("nowhere")
    checkpoint.prune(tmp_path, keep=1)
    assert checkpoint.problem(tmp_path / "step-000006") is None


def test_unfinished_ones_are_cleared_and_others_left(saved: Path) -> None:
    partial = saved.with_name(".step-000006.partial")
    (partial / "learner").mkdir(parents=True)
    checkpoint.clear_unfinished(saved.parent)
    assert not partial.exists()
    assert checkpoint.problem(saved) is None
