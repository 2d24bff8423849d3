"""A look at a file never waits, never follows doubt, and sees every difference in its bytes."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from gate.contract import knobs
from gate.guard.looking import Trouble, look


def test_a_file_is_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "user.yaml"
    for content in (b"", b"a: 1\n", b"x" * 200_000):
        path.write_bytes(content)
        assert look(str(path)) == content


def test_a_link_is_what_it_leads_to(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    link = tmp_path / "user.yaml"
    link.symlink_to(tmp_path / "a")
    assert look(str(link)) == b"a"
    link.unlink()
    link.symlink_to(tmp_path / "b")
    assert look(str(link)) == b"b"


def test_of_a_huge_file_only_so_much_is_read_that_its_size_is_beyond_doubt(tmp_path: Path) -> None:
    path = tmp_path / "user.yaml"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    content = look(str(path))
    assert isinstance(content, bytes)
    assert knobs.LARGEST < len(content) <= 2 * knobs.LARGEST


def test_a_missing_file_is_a_trouble_that_lasts(tmp_path: Path) -> None:
    trouble = look(str(tmp_path / "user.yaml"))
    assert isinstance(trouble, Trouble)
    assert trouble == look(str(tmp_path / "user.yaml"))
    assert isinstance(trouble.error, FileNotFoundError)


def test_a_directory_in_its_place_is_a_trouble(tmp_path: Path) -> None:
    trouble = look(str(tmp_path))
    assert isinstance(trouble, Trouble)
    assert isinstance(trouble.error, IsADirectoryError)


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "user.yaml"
    os.mkfifo(path)
    assert look(str(path)) == Trouble(errno.EINVAL, "it is a pipe or a device")


def test_a_device_that_never_ends_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "user.yaml"
    path.symlink_to("/dev/zero")
    assert isinstance(look(str(path)), Trouble)


def test_a_socket_or_a_loop_of_links_is_a_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("user.yaml")
        assert isinstance(look("user.yaml"), Trouble)
    Path("loop").symlink_to("loop")
    assert isinstance(look("loop"), Trouble)


def test_a_file_that_fails_while_it_is_read_is_a_trouble() -> None:
    # A process's memory is a regular file whose first byte cannot be read.
    assert isinstance(look("/proc/self/mem"), Trouble)
