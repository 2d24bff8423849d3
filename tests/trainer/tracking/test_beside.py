"""A run with a tracker beside it is the run without: whatever the tracker does, nothing else moves.

The followers are processes of their own, with the real ends of the pipe and fake trackers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate.contract.paths import RunPaths
from tests import tiny_run
from tests.nursery import Nursery
from tests.trainer.looking.mended_run import LAST
from tests.trainer.tracking import fake_trackers
from trainer.tracking.beside import LOG, beside, folder_of
from trainer.tracking.tracker import Kind

KIND = Kind.TENSORBOARD
SOON_S = 60.0


def log(run: RunPaths) -> str:
    return (folder_of(run, KIND) / LOG).read_text()


def until_it_says(run: RunPaths, word: str) -> None:
    for _ in range(int(SOON_S / 0.02)):
        if word in log(run):
            return
        time.sleep(0.02)
    raise AssertionError(log(run))


@pytest.fixture(autouse=True)
def nobody_is_left(run: RunPaths) -> Iterator[None]:
    """Whatever a test does to a follower, none outlives it."""
    yield
    ends = time.monotonic() + SOON_S
    while (left := tiny_run.alive(run.root)) and time.monotonic() < ends:
        time.sleep(0.02)
    assert left == []


def test_without_a_tracker_nothing_is_started(run: RunPaths) -> None:
    said: list[str] = []
    with beside(None, said.append, command=("no such program",)) as follow:
        follow(run)
    assert said == [] and not run.tracking.exists()


def test_a_follower_writes_what_is_there_when_the_run_ends(run: RunPaths) -> None:
    said: list[str] = []
    with beside(KIND, said.append, command=fake_trackers.command("keeper")) as follow:
        follow(run)
    assert said == [f"tensorboard follows: tensorboard --logdir {folder_of(run, KIND)}"]
    assert len(fake_trackers.kept(folder_of(run, KIND))) == LAST
    assert '{"ended": true}' in log(run)


def test_one_that_raises_is_told_in_one_line_with_its_log(run: RunPaths) -> None:
    said: list[str] = []
    with beside(KIND, said.append, command=fake_trackers.command("broken")) as follow:
        follow(run)
        until_it_says(run, "TrackerFailed")
    assert len(said) == 2
    assert said[1] == (
        f"tensorboard failed and the run went on; `eau track {run.root} --to tensorboard` goes on "
        f"where it stopped; what it said: {folder_of(run, KIND) / LOG}"
    )


def test_one_that_hangs_is_ended_in_bounded_time(run: RunPaths) -> None:
    said: list[str] = []
    stuck = fake_trackers.command("stuck")
    with beside(KIND, said.append, command=stuck, last_s=0.2) as follow:
        follow(run)
        until_it_says(run, "stuck")
        began = time.monotonic()
    assert time.monotonic() - began < SOON_S
    assert "(ended after 0.2 s)" in said[1]


def test_one_that_floods_fills_no_more_than_its_bound(run: RunPaths) -> None:
    said: list[str] = []
    flooding = fake_trackers.command("flooding")
    with beside(KIND, said.append, command=flooding) as follow:
        follow(run)
    assert len(said) == 2 and "failed and the run went on" in said[1]
    assert (folder_of(run, KIND) / LOG).stat().st_size <= 1 << 20


def test_one_that_cannot_be_started_is_told_and_no_exception(run: RunPaths) -> None:
    said: list[str] = []
    with beside(KIND, said.append, command=("/no/such/program",)) as follow:
        follow(run)
    (told,) = said
    assert told.startswith("tensorboard cannot be started, and the run goes on: ")


def test_an_error_of_the_run_goes_its_way_and_the_follower_its_own(run: RunPaths) -> None:
    keeper = fake_trackers.command("keeper")
    with (
        pytest.raises(KeyboardInterrupt),
        beside(KIND, lambda _: None, command=keeper) as follow,
    ):
        follow(run)
        raise KeyboardInterrupt
    assert len(fake_trackers.kept(folder_of(run, KIND))) == LAST


def test_a_killed_trainer_leaves_a_follower_that_finishes_and_ends(run: RunPaths) -> None:
    text = (
        "import sys, time; from pathlib import Path; from gate.contract.paths import RunPaths;"
        "from trainer.tracking.beside import beside; from trainer.tracking.tracker import Kind;"
        "from tests.trainer.tracking import fake_trackers\n"
        "with beside(Kind.TENSORBOARD, print, command=fake_trackers.command('keeper')) as follow:\n"
        f"    follow(RunPaths(Path({str(run.root)!r})))\n"
        "    time.sleep(600)\n"
    )
    trainer = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.DEVNULL)
    rows = folder_of(run, KIND) / fake_trackers.ROWS
    ends = time.monotonic() + SOON_S
    while not rows.is_file() and time.monotonic() < ends:
        time.sleep(0.02)
    os.kill(trainer.pid, signal.SIGKILL)
    trainer.wait()
    until_it_says(run, '{"ended": true}')
    assert len(fake_trackers.kept(folder_of(run, KIND))) == LAST


@pytest.fixture(scope="module")
def alone(
    nursery: Nursery, seedling: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[dict[str, Any]], list[str]]:
    """The steps of a run that nobody follows, and the kinds of its events."""
    root = tmp_path_factory.mktemp("alone") / "run"
    child = nursery.run("tracked", seedling, root, (), 2, 0.0)
    assert child.returncode == 0, child.told()
    steps = tiny_run.told_steps(RunPaths(root))
    assert len(steps) == 2
    return steps, [event["kind"] for event in tiny_run.events(RunPaths(root))]


@pytest.mark.parametrize(("name", "last_s"), [("keeper", 60.0), ("broken", 60.0), ("stuck", 0.5)])
def test_a_run_has_the_same_records_whatever_its_tracker_does(
    name: str,
    last_s: float,
    alone: tuple[list[dict[str, Any]], list[str]],
    nursery: Nursery,
    seedling: Path,
    tmp_path: Path,
) -> None:
    run = RunPaths(tmp_path / "followed")
    child = nursery.run("tracked", seedling, run.root, fake_trackers.command(name), 2, last_s)
    assert child.returncode == 0, child.told()
    assert ("failed and the run went on" in child.told()) == (name != "keeper")
    steps, kinds = alone
    assert tiny_run.told_steps(run) == steps
    assert [event["kind"] for event in tiny_run.events(run)] == kinds
    if name == "keeper":
        kept = fake_trackers.kept(folder_of(run, KIND))
        assert [row["step"] for row in kept] == [1, 2]
    assert tiny_run.alive(run.root) == []
