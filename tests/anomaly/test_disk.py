"""A full disk: a run waits for room or stops, as its knob says, and nothing on file is damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.contract import ledger
from gate.contract.paths import RunPaths
from tests import jobs, tiny_run
from tests.nursery import Nursery

STEPS = 5
DISK = "2m"
FILE_LIMIT = 50_000
"""Bytes: less than the policy's weights, more than any record of a few steps."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "eau-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("no small file system may be mounted here; the limit on files stands for it")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture(scope="module")
def whole(nursery: Nursery, seedling: Path, tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    run = jobs.copy_run(seedling, tmp_path_factory.mktemp("roomy") / "run")
    child = nursery.run("resume", run.root, stop_after=STEPS)
    assert child.returncode == 0, child.told()
    return run


def fill(disk: Path, *, leave: int) -> Path:
    """Put a file on a disk that leaves so many bytes free."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        while (free := shutil.disk_usage(disk).free - leave) > 0:
            file.write(bytes(min(free, 4096)))
    return ballast


def assert_nothing_damaged(run: RunPaths) -> None:
    assert ledger.verify(run.ledger).ok
    for checkpoint in run.checkpoints.iterdir():
        assert (checkpoint / "manifest.json").is_file(), f"{checkpoint} was never finished"
    assert [path for path in run.root.rglob("*.tmp")] == []


@pytest.mark.parametrize("leave", [0, 60_000])
def test_a_run_waits_until_there_is_room(
    nursery: Nursery, seedling: Path, small_disk: Path, whole: RunPaths, leave: int
) -> None:
    run = jobs.copy_run(seedling, small_disk / "run")
    child = nursery.begin("resume", run.root, stop_after=STEPS)
    # The steps that follow find room for some of their files, or for none.
    while not run.steps.exists() and not child.ended():
        time.sleep(0.001)
    ballast = fill(small_disk, leave=leave)
    while "paused" not in child.told() and not child.ended():
        time.sleep(0.01)
    assert not child.ended(), child.told()
    if leave:
        assert tiny_run.status(run)["phase"] == "paused"
        assert "free some space" in tiny_run.status(run)["reason"]
    ballast.unlink()
    assert child.wait() == 0, child.told()
    assert tiny_run.told_steps(run) == tiny_run.told_steps(whole)
    assert tiny_run.status(run)["reason"] is None
    assert tiny_run.events(run, "disk_full") != []
    assert_nothing_damaged(run)


def test_a_run_that_shall_not_wait_stops_with_an_error(
    nursery: Nursery, seedling: Path, small_disk: Path
) -> None:
    run = jobs.copy_run(seedling, small_disk / "run")
    jobs.save_knobs(run, "agent", {"on_disk_full": "stop"})
    ballast = fill(small_disk, leave=100_000)
    child = nursery.run("command", "resume", run.root)
    assert child.returncode == 1
    assert "free some space" in child.told() and "Traceback" not in child.told()
    assert tiny_run.status(run)["phase"] == "failed"
    assert "free some space" in tiny_run.status(run)["reason"]
    assert_nothing_damaged(run)
    done = len(tiny_run.told_steps(run))
    ballast.unlink()
    assert nursery.run("resume", run.root, stop_after=STEPS).returncode == 0
    assert [record["step"] for record in tiny_run.told_steps(run)] == list(range(1, STEPS + 1))
    assert done == 3, "the first checkpoint of the run did not fit"
    assert tiny_run.events(run, "resume_difference") == []


def test_a_limit_on_files_is_a_full_disk_too(
    nursery: Nursery, seedling: Path, tmp_path: Path, whole: RunPaths
) -> None:
    run = jobs.copy_run(seedling, tmp_path / "run")
    child = nursery.run("resume", run.root, stop_after=STEPS, file_limit=FILE_LIMIT)
    assert child.returncode == 0, child.told()
    assert "paused" in child.told()
    assert tiny_run.told_steps(run) == tiny_run.told_steps(whole)
    assert_nothing_damaged(run)
