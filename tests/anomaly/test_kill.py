"""SIGKILL at any moment: a resumed run tells the same story as one that was never killed.

`EAU_KILLS` sets how many kills there are in all; five runs of twenty kills take some minutes.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files, ledger
from gate.contract.paths import RunPaths
from tests import jobs, tiny_run
from tests.nursery import Child, Nursery

KILLS = int(os.environ.get("EAU_KILLS", "4"))
KILLS_OF_A_RUN = 4
STEPS = 10
MOMENTS = {
    "in a step": "",
    "in a checkpoint": "checkpoints/",
    "at a log append": ".jsonl",
    "in a knob transaction": "ledger.jsonl",
}
"""When a process is killed -> what the write has in its path before which that happens."""
SPREAD = {"in a step": 60, "in a checkpoint": 12, "at a log append": 6, "in a knob transaction": 3}
"""How many such writes a kill is drawn from."""

EDITS: dict[str, dict[str, Any]] = {
    "2": {"user": {"max_reveals": 3}},
    "3": {"agent": {"gae_lambda": 0.9}, "reward": {"turn_reward_clip": 0.2}},
    "4": {"agent": {"gae_lambda": 0.9, "actor_lr": 0.0002}},
    "5": {"agent": {"gae_lambda": 1.5}},
    "6": {"agent": {"gae_lambda": 0.8, "actor_lr": 0.0002}},
    "8": {"user": {"max_reveals": 4}, "agent": {"gae_lambda": 0.85, "actor_lr": 0.0002}},
}
"""Live edits by step: of one file, of two at once, and one that is refused and mended."""


@pytest.fixture(scope="module")
def unharmed(
    nursery: Nursery, seedling: Path, tmp_path_factory: pytest.TempPathFactory
) -> RunPaths:
    """The run with the same edits at the same steps, never killed."""
    run = jobs.copy_run(seedling, tmp_path_factory.mktemp("unharmed") / "run")
    child = nursery.run("resume", run.root, edits=EDITS)
    assert child.returncode == 0, child.told()
    told = tiny_run.told_steps(run)
    assert [record["revision"] for record in told] == [0, 1, 2, 3, 3, 4, 4, 5, 5, 5]
    assert len({record["knobs_digest"] for record in told}) == 6
    return run


def kill_at_a_write(nursery: Nursery, run: RunPaths, moment: str, count: int) -> Child:
    child = nursery.run("resume", run.root, edits=EDITS, die_at=[MOMENTS[moment], count])
    assert child.returncode in (-9, 0), child.told()
    return child


def kill_after(nursery: Nursery, run: RunPaths, seconds: float) -> Child:
    """Kill a trainer some time after the first thing it has to tell."""
    child = nursery.begin("resume", run.root, edits=EDITS)
    while not child.told() and not child.ended():
        time.sleep(0.001)
    time.sleep(seconds)
    child.kill()
    assert child.returncode in (-9, 0), child.told()
    return child


def assert_same_story(nursery: Nursery, run: RunPaths, unharmed: RunPaths) -> None:
    child = nursery.run("resume", run.root, edits=EDITS)
    assert child.returncode == 0, child.told()
    assert tiny_run.told_steps(run) == tiny_run.told_steps(unharmed)
    assert ledger.verify(run.ledger).ok
    mine, theirs = ledger.revisions(run.ledger), ledger.revisions(unharmed.ledger)
    assert [(one.number, one.step, one.changes) for one in mine] == [
        (one.number, one.step, one.changes) for one in theirs
    ]
    assert tiny_run.events(run, "resume_difference") == []
    for step in range(1, STEPS + 1):
        found = files.read_lines(run.episodes_of(step))
        assert found == files.read_lines(unharmed.episodes_of(step))
    assert tiny_run.status(run)["phase"] == "finished"
    assert not run.staging.exists()
    assert_nobody_left(run)


def assert_nobody_left(run: RunPaths) -> None:
    """The worlds' processes end with their trainer, within seconds."""
    give_up = time.monotonic() + 30
    while (left := tiny_run.alive(run.root)) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert left == []


@pytest.mark.kill
@pytest.mark.parametrize("number", range(-(-KILLS // KILLS_OF_A_RUN)))
def test_a_run_that_is_killed_again_and_again_tells_the_same_story(
    nursery: Nursery, seedling: Path, tmp_path: Path, unharmed: RunPaths, number: int
) -> None:
    chance = random.Random(number)
    kills = min(KILLS_OF_A_RUN, KILLS - number * KILLS_OF_A_RUN)
    done = 0
    lives: list[str] = []
    run = jobs.copy_run(seedling, tmp_path / "run-0")
    while done < kills:
        moments = list(MOMENTS)
        moment = moments[(done + number) % len(moments)]
        if chance.random() < 0.25:
            lives.append(f"after {chance.random():.3f} s")
            child = kill_after(nursery, run, chance.random())
        else:
            count = chance.randint(1, SPREAD[moment])
            lives.append(f"{moment}, write {count}")
            child = kill_at_a_write(nursery, run, moment, count)
        done += child.returncode == -9
        assert_nobody_left(run)
        if child.returncode == 0:
            # It came to its end before that moment: the story is checked, another run begins.
            assert_same_story(nursery, run, unharmed)
            run = jobs.copy_run(seedling, tmp_path / f"run-{len(lives)}")
        assert len(lives) < 5 * kills, lives
    assert_same_story(nursery, run, unharmed)


@pytest.mark.parametrize(
    ("part", "count"),
    [
        ("checkpoints/.step-000003.partial", 1),
        ("checkpoints/.step-000003.partial/manifest.json", 1),
        ("checkpoints/step-000003", 1),
        ("/steps.jsonl", 3),
        ("episodes/000003.jsonl", 1),
        ("events.jsonl", 3),
        ("ledger.jsonl", 1),
        ("ledger.jsonl", 2),
    ],
)
def test_a_run_killed_before_one_named_write_tells_the_same_story(
    nursery: Nursery,
    seedling: Path,
    tmp_path: Path,
    unharmed: RunPaths,
    part: str,
    count: int,
) -> None:
    run = jobs.copy_run(seedling, tmp_path / "run")
    child = nursery.run("resume", run.root, edits=EDITS, die_at=[part, count])
    assert child.returncode == -9, child.told()
    assert_nobody_left(run)
    assert_same_story(nursery, run, unharmed)
