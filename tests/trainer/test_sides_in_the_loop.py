"""The loop brings the right worlds to each step, tells what it did, and learns from every side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate.contract import revisions
from gate.contract.ledger import Author, RevisionKind
from gate.contract.paths import RunPaths
from gate.contract.sides import Side
from gate.guard import KnobStatus, OpenTest
from tests import live_run, tiny_run
from tests.trainer import scripted_run
from tests.trainer.rollout.cast import ScriptedUser
from tests.trainer.scripted_run import AnyHost, CountingLearner
from trainer import loop
from trainer.episode import StopReason, Voice
from trainer.live import LiveKnobs
from trainer.loop import Ending, Run
from trainer.ppo.learner import LearnSettings, UpdateStats
from trainer.rollout import sides
from trainer.rollout.places import Place, Places
from trainer.runlog import RunLog
from trainer.trajectory import Trajectory
from trainer.worlds.calls import Fault, Rejudge

SWAP_AT, BACK_AT = 3, 6
"""Steps at whose start worlds come into force, and at whose start they are taken back."""
TESTED = (4, 5)
STEPS = 6


class TestedLive(LiveKnobs):
    """Worlds that come and go, a test between, and a note of what the guard is told."""

    __test__ = False

    def __init__(self, paths: RunPaths) -> None:
        super().__init__(paths, worlds=live_run.WORLDS)
        self.paths = paths
        self.told: list[tuple[float | None, ...]] = []

    def reconcile(
        self, step: int, *, success_history: Sequence[float | None], now: float
    ) -> KnobStatus:
        """Let the worlds change, then look, and say that a test is open."""
        self.told.append(tuple(success_history))
        if step == SWAP_AT:
            commit(self.paths, step, {"world/0001/travel/env.py": b"# new\n"}, world=1)
        if step == BACK_AT:
            commit(self.paths, step, {}, world=0)
        status = super().reconcile(step, success_history=success_history, now=now)
        new = self.condition(status.revision)
        test = OpenTest(7, old=self.condition(0), new=new) if step in TESTED else None
        return replace(status, test=test)


class ListeningLearner(CountingLearner):
    """Notes whom it learns from."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[list[str]] = []

    def step(self, trajectories: Sequence[Trajectory], settings: LearnSettings) -> UpdateStats:
        """Note the groups."""
        self.heard.append([one.group_id for one in trajectories])
        return super().step(trajectories, settings)


def commit(paths: RunPaths, step: int, contents: dict[str, bytes], *, world: int) -> None:
    revisions.commit(
        paths,
        contents,
        author=Author.PERSON,
        reason="a test",
        kind=RevisionKind.COMMAND,
        changes=(),
        step=step,
        now=float(step),
        world=world,
    )


class Stage:
    """A scripted run whose worlds are told apart by revision."""

    def __init__(self, paths: RunPaths, **other: Any) -> None:
        """Set it up; `other` are fields of the run."""
        self.notes: list[str] = []
        self.hosts: dict[int, AnyHost] = {}
        run = scripted_run.make(paths, **other)
        rollout = replace(run.config.rollout, dialogues_per_step=8, anchor_share=0.125)
        run.config = replace(run.config, rollout=rollout)
        run.scene = replace(run.scene, places=Places(self._open), config=rollout)
        self.run: Run = run

    def _open(self, revision: int) -> Place:
        self.notes.append(f"open {revision}")
        host = self.hosts[revision] = AnyHost()
        users = {voice: ScriptedUser(voice) for voice in (Voice.SYMBOLIC, Voice.NOISY)}
        return Place(host, users, end=lambda: self.notes.append(f"end {revision}"))

    def records(self) -> list[dict[str, Any]]:
        """Return the step records."""
        return tiny_run.told_steps(self.run.paths)


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "run")


@pytest.fixture
def stage(paths: RunPaths) -> Stage:
    return Stage(paths, live=TestedLive(paths), learner=ListeningLearner())


def test_workers_come_and_go_at_the_boundaries_of_steps(stage: Stage) -> None:
    assert loop.train(stage.run) is Ending.FINISHED
    assert [one["world_revision"] for one in stage.records()] == [0, 0, 1, 1, 1, 0]
    assert stage.notes == ["open 0", "open 1", "end 1"]
    swaps = tiny_run.events(stage.run.paths, "world_swapped")
    assert [(one["step"], one["detail"]["old"], one["detail"]["new"]) for one in swaps] == [
        (SWAP_AT, 0, 1),
        (BACK_AT, 1, 0),
    ]


def test_every_step_plays_its_sides_where_they_belong(stage: Stage) -> None:
    loop.train(stage.run)
    started = [
        {side: part["started"] for side, part in one["by_side"].items()} for one in stage.records()
    ]
    assert [one for one in started if "old" not in one] == [{"in_force": 7, "anchor": 1}] * 4
    for one in (started[step - 1] for step in TESTED):
        assert one["anchor"] == 1
        assert sorted((one["old"], one["new"])) == [3, 4]
    tested = [record for record in stage.records() if record["step"] in TESTED]
    assert {one["by_side"]["new"]["world_revision"] for one in tested} == {1}
    assert {one["by_side"]["old"]["world_revision"] for one in tested} == {0}


def test_all_that_finished_is_learnt_from(stage: Stage) -> None:
    loop.train(stage.run)
    learner = stage.run.learner
    assert isinstance(learner, ListeningLearner)
    assert [len(set(groups)) for groups in learner.heard] == [8] * STEPS


def test_the_guard_is_told_what_the_anchors_showed_and_where_there_were_none(
    paths: RunPaths,
) -> None:
    live = TestedLive(paths)
    stage = Stage(paths, live=live)
    rollout = replace(stage.run.config.rollout, anchor_share=0.0625)
    stage.run.config = replace(stage.run.config, rollout=rollout)
    loop.train(stage.run)
    assert live.told[-1] == (None, 0.5, None, 0.5, None, 0.5), "the verdict of the scripted world"
    assert stage.run.snapshot.anchor_success == live.told[-1]


def test_status_says_that_a_test_is_open_and_which_worlds_are_in_force(stage: Stage) -> None:
    seen: list[tuple[int, object]] = []

    def watch(record: Any, status: Any) -> None:
        told = tiny_run.status(stage.run.paths)
        seen.append((told["world_revision"], told["test"]))

    stage.run.watcher = watch
    loop.train(stage.run)
    test = {"number": 7, "old": 0, "new": 1}
    assert seen == [(0, None), (0, None), (1, None), (1, test), (1, test), (0, None)]


def test_a_verdict_that_revision_0_could_not_give_is_an_event(stage: Stage) -> None:
    drawn = sides.draw(8, step=SWAP_AT, seed=stage.run.config.seed, anchor_share=0.125)
    broken = f"{SWAP_AT:06d}-{drawn.index(Side.IN_FORCE):02d}"
    stage.run.scene.places.at(0)
    stage.hosts[0].faults = {(broken, Rejudge): Fault(StopReason.WORLD_DIED, "killed")}
    loop.train(stage.run)
    (told,) = tiny_run.events(stage.run.paths, "unscored")
    assert told["step"] == SWAP_AT
    assert told["detail"] == {"episode": broken, "error": "world_died: killed"}
    record = stage.records()[SWAP_AT - 1]
    assert record["finished"] == 8
    assert sum(record["episodes_by_arm"].values()) == 7
    assert record["pinned_success"] == 0.25


def test_a_replay_plays_the_same_sides_in_the_same_worlds_and_tells_nothing_twice(
    stage: Stage,
) -> None:
    loop.train(stage.run)
    paths = stage.run.paths
    told = len(tiny_run.events(paths))
    again = Stage(paths, log=RunLog(paths, now=lambda: 0.0))
    assert loop.train(again.run) is Ending.FINISHED
    assert again.notes == stage.notes
    assert tiny_run.events(paths, "resume_difference") == []
    new = [one["kind"] for one in tiny_run.events(paths)[told:]]
    assert new == ["checkpoint"] * 3 + ["run_finished"]
