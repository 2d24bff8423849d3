"""A file is whole or untouched, and no record is lost to the damage of another line."""

from __future__ import annotations

import errno
import json
import os
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import live_run

RECORDS = [{"step": step, "text": f"Grüße {step}"} for step in range(3)]


def write_records(path: Path) -> bytes:
    for record in RECORDS:
        files.append_line(path, record)
    return path.read_bytes()


def test_a_whole_write_replaces_the_bytes_and_keeps_the_permissions(tmp_path: Path) -> None:
    path = tmp_path / "user.yaml"
    files.write_whole(path, b"old")
    path.chmod(0o640)
    files.write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["user.yaml"]


def test_a_whole_write_replaces_a_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"theirs")
    link = tmp_path / "link"
    link.symlink_to(target)
    files.write_whole(link, b"ours")
    assert target.read_bytes() == b"theirs"
    assert link.read_bytes() == b"ours"
    assert not link.is_symlink()


def test_a_reader_never_sees_half_a_write(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    versions = [letter * 200_000 for letter in (b"a", b"b")]
    files.write_whole(path, versions[0])
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for version in versions:
                files.write_whole(path, version)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = {path.read_bytes() for _ in range(200)}
    finally:
        stop.set()
        writer.join()
    assert seen <= set(versions)


def test_a_full_disk_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    files.write_whole(path, b"old")
    with live_run.file_size_limit(1000), pytest.raises(files.DiskFull) as caught:
        files.write_whole(path, b"x" * 5000)
    assert str(path) in str(caught.value)
    assert "free some space" in str(caught.value)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["status.json"]


def test_no_space_and_no_quota_are_a_full_disk_and_other_errors_stay_themselves() -> None:
    for number in (errno.ENOSPC, errno.EDQUOT):
        with pytest.raises(files.DiskFull), files.room_for(Path("status.json")):
            raise OSError(number, os.strerror(number))
    with pytest.raises(PermissionError), files.room_for(Path("status.json")):
        raise PermissionError(errno.EACCES, "no")


def test_lines_come_back_as_they_were_appended(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    write_records(path)
    assert files.read_lines(path) == files.Lines(tuple(RECORDS))
    assert files.append_line(path, {"step": 3}, durable=True) == b'{"step":3}'
    files.append_line(tmp_path / "other.jsonl", {"step": 0}, durable=True)
    assert files.read_lines(path).records[-1] == {"step": 3}


def test_a_line_cut_at_any_byte_costs_that_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    content = write_records(path)
    start = content.rindex(b"\n", 0, -1) + 1
    for cut in range(start, len(content)):
        path.write_bytes(content[:cut])
        # Without its line end alone the record is complete; at the line's start nothing is torn.
        whole = cut == len(content) - 1
        expected = RECORDS if whole else RECORDS[:2]
        assert files.read_lines(path) == files.Lines(
            tuple(expected), torn=int(not whole and cut > start)
        )


def test_a_record_appended_after_a_torn_line_is_not_lost_and_the_torn_bytes_stay(
    tmp_path: Path,
) -> None:
    path = tmp_path / "steps.jsonl"
    content = write_records(path)
    path.write_bytes(content[:-4])
    files.append_line(path, {"step": 3})
    assert path.read_bytes() == content[:-4] + b'\n{"step":3}\n'
    assert files.read_lines(path) == files.Lines((*RECORDS[:2], {"step": 3}), torn=1)


@pytest.mark.parametrize(
    ("line", "record"),
    [
        (b'\x00\x00\x00{"step": 7}', {"step": 7}),
        (b'{"step": 7}\x00\x00', {"step": 7}),
        (b'{"text": "a\xffb"}', {"text": "a�b"}),
        (b'{"loss": Infinity}', {"loss": float("inf")}),
    ],
)
def test_a_damaged_line_that_holds_a_record_is_kept_and_counted(
    tmp_path: Path, line: bytes, record: dict[str, object]
) -> None:
    path = tmp_path / "steps.jsonl"
    content = write_records(path)
    path.write_bytes(line + b"\n" + content)
    assert files.read_lines(path) == files.Lines((record, *RECORDS), mended=1)


def test_a_nan_token_costs_no_record(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    path.write_bytes(b'{"loss": NaN, "step": 1}\n{"step": 2}\n')
    lines = files.read_lines(path)
    assert [record["step"] for record in lines.records] == [1, 2]
    assert lines.mended == 1


@pytest.mark.parametrize("line", [b"\x00" * 512, b"[1, 2]", b"3", b"[" * 100_000, b"\xff\xfe"])
def test_a_line_without_a_record_is_torn(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "steps.jsonl"
    content = write_records(path)
    path.write_bytes(line + b"\n" + content)
    assert files.read_lines(path) == files.Lines(tuple(RECORDS), torn=1)


def test_a_missing_file_has_no_lines(tmp_path: Path) -> None:
    assert files.read_lines(tmp_path / "steps.jsonl") == files.Lines(())
    assert files.tail(tmp_path / "steps.jsonl", 3) == files.Lines(())


def test_a_number_that_does_not_exist_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "steps.jsonl"
    with pytest.raises(ValueError, match="write null"):
        files.append_line(path, {"loss": float("nan")})
    assert not path.exists()


def test_a_lone_surrogate_survives_as_an_escape(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    files.append_line(path, {"text": "\udc80"})
    assert files.read_lines(path) == files.Lines(({"text": "\udc80"},))


def test_an_append_to_a_full_disk_says_so_and_the_next_one_recovers(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    content = write_records(path)
    with (
        live_run.file_size_limit(len(content) + 5),
        pytest.raises(files.DiskFull, match=r"steps\.jsonl"),
    ):
        files.append_line(path, {"step": 3, "text": "long enough"})
    files.append_line(path, {"step": 4})
    assert files.read_lines(path) == files.Lines((*RECORDS, {"step": 4}), torn=1)


@given(
    lengths=st.lists(st.integers(0, 60_000), max_size=12),
    n=st.integers(0, 14),
    ended=st.booleans(),
)
def test_the_tail_is_the_end_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], n: int, ended: bool
) -> None:
    path = tmp_path_factory.mktemp("tail") / "steps.jsonl"
    lines = [json.dumps({"i": i, "text": "x" * length}) for i, length in enumerate(lengths)]
    path.write_text("\n".join(lines) + "\n" * ended)
    expected = files.read_lines(path).records
    assert files.tail(path, n).records == (expected[-n:] if n else ())


def test_the_tail_of_a_large_file_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    line = json.dumps({"text": "x" * 1000}) + "\n"
    path.write_text(line * 20_000)
    with path.open("a") as stream:
        stream.write("torn\n" + line * 2)
    tracemalloc.start()
    try:
        lines = files.tail(path, 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(lines.records), lines.torn) == (5, 1)
    assert peak < 2_000_000


def test_one_endless_line_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    path.write_bytes(b'{"step":1}\n' + b"x" * (files.MAX_LINE_BYTES + 3 * files.BLOCK_BYTES))
    lines = files.tail(path, 1)
    assert lines.records == ({"step": 1},)
    assert lines.torn >= 1


def test_a_waiter_learns_who_holds_the_lock_and_the_lock_falls_with_its_holder(
    tmp_path: Path,
) -> None:
    with (
        live_run.locked_elsewhere(RunPaths(tmp_path)) as pid,
        pytest.raises(files.LockBusy, match=rf"process {pid} for a long edit"),
        files.run_lock(tmp_path, timeout_s=0.05),
    ):
        raise AssertionError("the lock was held")
    with files.run_lock(tmp_path), files.run_lock(tmp_path, purpose="again"):
        assert (tmp_path / ".lock.holder").read_text().endswith("for a change")


def test_a_holder_that_left_no_note_is_unknown(tmp_path: Path) -> None:
    with live_run.locked_elsewhere(RunPaths(tmp_path)):
        (tmp_path / ".lock.holder").unlink()
        with (
            pytest.raises(files.LockBusy, match="held by an unknown process"),
            files.run_lock(tmp_path, timeout_s=0),
        ):
            raise AssertionError("the lock was held")


def test_a_digest_is_the_sha256_of_the_bytes() -> None:
    assert files.content_digest(b"").startswith("e3b0c44298fc1c149afb")
