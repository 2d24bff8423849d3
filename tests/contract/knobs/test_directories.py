"""Four files are read together or not at all, and no missing file falls back to defaults."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gate.contract import knobs
from tests.contract.knobs.material import content


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for file in knobs.FILES:
        (tmp_path / f"{file}.yaml").write_bytes(knobs.render_defaults(file))
    return tmp_path


def _refusal(directory: Path) -> knobs.Refused:
    with pytest.raises(knobs.Refused) as caught:
        knobs.load(directory, worlds=())
    return caught.value


def test_a_directory_of_starting_files_holds_the_defaults(directory: Path) -> None:
    assert knobs.load(directory, worlds=()) == knobs.defaults()


def test_the_faults_of_all_files_are_told_at_once_with_their_paths(directory: Path) -> None:
    (directory / "user.yaml").write_bytes(content("user", "facts_per_reply", "9"))
    (directory / "agent.yaml").write_bytes(content("agent", "gamma", "9"))
    refused = _refusal(directory)
    assert [finding.file for finding in refused.findings] == [
        str(directory / "user.yaml"),
        str(directory / "agent.yaml"),
    ]
    assert not isinstance(refused, knobs.NotReady)


def test_a_vanished_file_is_refused_by_name(directory: Path) -> None:
    (directory / "reward.yaml").unlink()
    (finding,) = _refusal(directory).findings
    assert finding.rule == "knobs.unreadable"
    assert finding.file == str(directory / "reward.yaml")
    assert "no such file" in finding.message


def test_a_directory_in_place_of_a_file_is_refused(directory: Path) -> None:
    (directory / "reward.yaml").unlink()
    (directory / "reward.yaml").mkdir()
    (finding,) = _refusal(directory).findings
    assert "move it away" in finding.next_step


def test_a_file_without_permission_is_told_how_to_be_read() -> None:
    # Root reads everything, so the error is made here rather than by the file system.
    finding = knobs.unreadable_file(Path("user.yaml"), PermissionError(13, os.strerror(13)))
    assert finding.next_step == "Allow reading it: chmod u+r user.yaml."


def test_a_half_saved_file_among_whole_ones_is_not_ready(directory: Path) -> None:
    (directory / "user.yaml").write_bytes(content("user")[:300])
    assert isinstance(_refusal(directory), knobs.NotReady)
    (directory / "agent.yaml").write_bytes(content("agent", "gamma", "9"))
    assert not isinstance(_refusal(directory), knobs.NotReady)


def test_no_refusal_touches_a_file(directory: Path) -> None:
    broken = b"ppo:\n\tlr: 0.1\n"
    (directory / "agent.yaml").write_bytes(broken)
    before = sorted(path.name for path in directory.iterdir())
    _refusal(directory)
    assert (directory / "agent.yaml").read_bytes() == broken
    assert sorted(path.name for path in directory.iterdir()) == before
