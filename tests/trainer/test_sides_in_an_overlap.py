"""Sides, worlds and endpoints of a run whose steps overlap are those of one whose steps do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import live_run, tiny_run
from tests.trainer import scripted_run, test_endpoint_in_a_run, test_sides_in_the_loop
from tests.trainer.test_overlap import OwnWeights
from tests.trainer.test_sides_in_the_loop import BACK_AT, SWAP_AT, TESTED, TestedLive
from trainer import loop
from trainer.loop import Ending, Run
from trainer.overlap import Overlap
from trainer.runlog import RunLog
from trainer.users.spending import Limits, Meter

LATE = ("staleness", "policy_version")
"""What of a record tells that a step was played ahead."""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def overlapping(run: Run, stack: ExitStack) -> Run:
    """Let the steps of a run overlap; it is saved after every fourth."""
    sampler = OwnWeights(scripted_run.AnyScript(), policy_version=0)
    run.config = replace(
        run.config,
        rollout=replace(run.config.rollout, overlap=True),
        checkpoint=replace(run.config.checkpoint, every=4),
    )
    run.scene = replace(run.scene, sampler=sampler)
    run.overlap = Overlap(sampler)
    stack.callback(run.overlap.close)
    return run


def split_run(paths: RunPaths, **other: Any) -> test_sides_in_the_loop.Stage:
    """Set up a run in which worlds come and go and a test splits two steps."""
    return test_sides_in_the_loop.Stage(paths, live=TestedLive(paths), **other)


def timeless(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: one[key] for key in one if key not in LATE} for one in records]


def test_the_same_sides_are_played_in_the_same_worlds(tmp_path: Path, stack: ExitStack) -> None:
    plain = split_run(live_run.launch(tmp_path / "plain"))
    late = split_run(live_run.launch(tmp_path / "late"))
    assert loop.train(plain.run) is Ending.FINISHED
    assert loop.train(overlapping(late.run, stack)) is Ending.FINISHED
    assert [one["staleness"] for one in late.records()] == [0, 1, 1, 1, 0, 1]
    assert timeless(late.records()) == timeless(plain.records())
    assert late.notes == plain.notes == ["open 0", "open 1", "end 1"]
    split = [one["step"] for one in late.records() if one["test"] is not None]
    assert split == list(TESTED)
    swaps = tiny_run.events(late.run.paths, "world_swapped")
    assert [one["step"] for one in swaps] == [SWAP_AT, BACK_AT]


def test_the_guard_hears_of_the_anchors_of_a_step_before_it_is_learnt_from(
    tmp_path: Path, stack: ExitStack
) -> None:
    paths = live_run.launch(tmp_path / "run")
    stage = split_run(paths)
    loop.train(overlapping(stage.run, stack))
    live = stage.run.live
    assert isinstance(live, TestedLive)
    assert [len(told) for told in live.told] == [0, 1, 2, 3, 4, 5, 6]


def test_a_replay_of_a_test_plays_the_same_sides(tmp_path: Path, stack: ExitStack) -> None:
    paths = live_run.launch(tmp_path / "run")
    stage = split_run(paths)
    loop.train(overlapping(stage.run, stack))
    again = test_sides_in_the_loop.Stage(paths, log=RunLog(paths, now=lambda: 0.0))
    assert loop.train(overlapping(again.run, stack)) is Ending.FINISHED
    assert again.notes == stage.notes
    assert tiny_run.events(paths, "resume_difference") == []


def test_every_step_tells_what_its_own_episodes_cost(tmp_path: Path, stack: ExitStack) -> None:
    paths = live_run.launch(tmp_path / "run")
    run = test_endpoint_in_a_run.make(paths, Meter(test_endpoint_in_a_run.PRICES))
    assert loop.train(overlapping(run, stack)) is Ending.FINISHED
    steps = files.read_lines(paths.steps).records
    assert [step["endpoint"]["requests"] for step in steps] == [4] * 6
    assert tiny_run.status(paths)["endpoint"]["requests"] == 24


def test_a_limit_ends_the_run_once_what_was_paid_for_is_learnt_from(
    tmp_path: Path, stack: ExitStack
) -> None:
    paths = live_run.launch(tmp_path / "run")
    run = test_endpoint_in_a_run.make(paths, Meter(limits=Limits(tokens=500)))
    assert loop.train(overlapping(run, stack)) is Ending.STOPPED
    # 440 tokens a step: the second step passes the limit, and was played ahead.
    assert [one["staleness"] for one in tiny_run.told_steps(paths)] == [0, 1]
    assert "500" in tiny_run.status(paths)["reason"]
