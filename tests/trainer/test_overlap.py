"""A step is played while the one before is learnt from, and nothing else about a run changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gate.contract.paths import RunPaths
from tests import live_run, tiny_run
from tests.trainer import scripted_run
from tests.trainer.rollout.cast import ScriptedSampler
from tests.trainer.scripted_run import AnyHost, CountingLearner
from trainer import loop, preflight, recipe_file
from trainer.loop import Ending, Run
from trainer.overlap import Overlap
from trainer.policy.sampler import Completion, SampleRequest, SamplerFault
from trainer.ppo.learner import LearnSettings, UpdateStats
from trainer.recipe import PlantedFault
from trainer.runlog import RunLog
from trainer.trajectory import Trajectory

SCHEDULE = [0, 1, 1, 0, 1, 1]
"""Staleness of the steps where a checkpoint is written after every third."""
PATIENCE_S = 30.0


@dataclass
class OwnWeights(ScriptedSampler):
    """Keeps its weights to itself, and notes who is held, asked and brought up to date when."""

    notes: list[str] = field(default_factory=list)
    held: list[set[int]] = field(default_factory=list)
    """Steps whose dialogues were held, by call."""
    refuses_from: int = 99
    breaks_in: int = 99
    """The step in which sampling raises."""
    heard: set[int] = field(default_factory=set)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def sample(
        self, requests: Sequence[SampleRequest], *, temperature: float, greedy: bool = False
    ) -> list[Completion]:
        """Tell whoever waits that these steps are being played."""
        steps = {int(one.dialogue.partition("-")[0]) for one in requests}
        with self.changed:
            self.heard |= steps
            self.changed.notify_all()
        if self.breaks_in in steps:
            raise FloatingPointError("logits are not finite")
        return super().sample(requests, temperature=temperature, greedy=greedy)

    def hold(self, dialogues: Sequence[str]) -> None:
        """Note whose dialogues are held."""
        self.held.append({int(one.partition("-")[0]) for one in dialogues})

    def sync(self, policy_version: int) -> None:
        """Note that it is up to date."""
        if policy_version >= self.refuses_from:
            raise SamplerFault("a server disagrees")
        self.notes.append(f"sync {policy_version}")
        super().sync(policy_version)

    def await_step(self, step: int) -> bool:
        """Wait until a step is being played."""
        with self.changed:
            return self.changed.wait_for(lambda: step in self.heard, PATIENCE_S)


class PatientLearner(CountingLearner):
    """Learns from a step only once the next one is being played, where it should be."""

    def __init__(self, sampler: OwnWeights, *, fails_at: int | None = None) -> None:
        super().__init__(fails_at)
        self._sampler = sampler
        self.ahead: list[int] = []
        """Steps that were played while another was learnt from."""
        self.expects = [step for step, staleness in enumerate(SCHEDULE, 1) if staleness]

    def step(self, trajectories: Sequence[Trajectory], settings: LearnSettings) -> UpdateStats:
        """Wait, then learn nothing."""
        upcoming = int(trajectories[0].episode_id.partition("-")[0]) + 1
        if upcoming in self.expects and self._sampler.await_step(upcoming):
            self.ahead.append(upcoming)
        self._sampler.notes.append(f"update {self.policy_version + 1}")
        return super().step(trajectories, settings)


class Stage:
    """A scripted run that overlaps, saved after every third step."""

    def __init__(self, paths: RunPaths, stack: ExitStack, **other: Any) -> None:
        """Set it up; `other` are fields of the run."""
        fails_at = other.pop("fails_at", None)
        self.sampler = OwnWeights(scripted_run.AnyScript(), policy_version=0)
        self.learner = PatientLearner(self.sampler, fails_at=fails_at)
        run = scripted_run.make(paths, **{"learner": self.learner, **other})
        run.config = replace(
            run.config,
            rollout=replace(run.config.rollout, overlap=True),
            checkpoint=replace(run.config.checkpoint, every=3),
        )
        run.scene = replace(run.scene, sampler=self.sampler)
        run.overlap = Overlap(self.sampler)
        stack.callback(run.overlap.close)
        self.run: Run = run

    def edit_after_the_first(self, path: str, value: object) -> None:
        """Save a knob once the first step is recorded; each is told what it was played under."""

        def watch(record: Any, status: Any) -> None:
            assert status.revision == record.revision
            if record.step == 1:
                live_run.save(self.run.paths, path, value)

        self.run.watcher = watch

    def records(self) -> list[dict[str, Any]]:
        """Return the step records."""
        return tiny_run.told_steps(self.run.paths)

    def staleness(self) -> list[int]:
        """Return it step by step."""
        return [one["staleness"] for one in self.records()]


@pytest.fixture
def paths(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "run")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def stage(paths: RunPaths, stack: ExitStack) -> Stage:
    return Stage(paths, stack)


def test_each_step_is_played_during_the_update_before_unless_a_checkpoint_lies_between(
    stage: Stage,
) -> None:
    assert loop.train(stage.run) is Ending.FINISHED
    assert stage.learner.ahead == [2, 3, 5, 6]
    assert stage.staleness() == SCHEDULE
    assert stage.sampler.held == [{2}, {3}, {5}, {6}]


def test_a_sync_follows_every_update_and_the_rollout_beside_it(stage: Stage) -> None:
    loop.train(stage.run)
    notes = [f"{what} {version}" for version in range(1, 7) for what in ("update", "sync")]
    assert stage.sampler.notes == notes


def test_records_and_episodes_name_the_version_that_spoke(stage: Stage) -> None:
    loop.train(stage.run)
    spoke = [one["policy_version"] for one in stage.records()]
    assert spoke == [0, 0, 1, 3, 3, 4]
    assert [one["params_digest"] for one in stage.records()] == [f"{n:064d}" for n in range(1, 7)]
    for step, version in enumerate(spoke, 1):
        lines = stage.run.paths.episodes_of(step).read_text().splitlines()
        assert all(f'"policy_version":{version}' in line for line in lines)


def test_what_is_in_force_when_a_step_is_played_is_what_it_is_learnt_under(stage: Stage) -> None:
    stage.edit_after_the_first("agent.gae_lambda", 0.9)
    loop.train(stage.run)
    # Saved after step 1 was recorded: step 2 was played by then, step 3 was not.
    assert [one["revision"] for one in stage.records()] == [0, 0, 1, 1, 1, 1]
    assert [one.gae_lambda for one in stage.learner.settings] == [0.95] * 2 + [0.9] * 4
    (adopted,) = tiny_run.events(stage.run.paths, "knob_adopted")
    assert adopted["step"] == 3
    for step, record in enumerate(stage.records(), 1):
        lines = stage.run.paths.episodes_of(step).read_text().splitlines()
        assert all(f'"revision":{record["revision"]}' in line for line in lines)


def test_an_update_that_is_not_finite_ends_the_run_with_nobody_left_playing(
    paths: RunPaths, stack: ExitStack
) -> None:
    stage = Stage(paths, stack, fails_at=2)
    assert loop.train(stage.run) is Ending.FAILED
    assert [one["step"] for one in stage.records()] == [1]
    (failed,) = tiny_run.events(paths, "update_failed")
    assert failed["step"] == 2
    assert 3 in stage.sampler.heard, "step 3 was being played"
    assert stage.run.overlap is not None and stage.run.overlap.dealt is None
    assert stage.sampler.released >= {"000003-00", "000003-01"}


def test_what_breaks_in_a_step_played_ahead_is_told_of_that_step(stage: Stage) -> None:
    stage.sampler.breaks_in = 3
    assert loop.train(stage.run) is Ending.FAILED
    assert [one["step"] for one in stage.records()] == [1, 2], "step 2 was learnt from"
    (failed,) = tiny_run.events(stage.run.paths, "update_failed")
    assert (failed["step"], failed["detail"]["reason"]) == (3, "logits are not finite")


def test_a_sampler_that_disagrees_ends_the_run_in_that_very_step(stage: Stage) -> None:
    stage.sampler.refuses_from = 2
    assert loop.train(stage.run) is Ending.FAILED
    assert [one["step"] for one in stage.records()] == [1]
    assert tiny_run.status(stage.run.paths)["reason"] == "a server disagrees"


def test_asked_to_stop_it_drops_what_was_played_ahead_and_goes_on_afresh(
    stage: Stage, paths: RunPaths, stack: ExitStack
) -> None:
    asked: list[int] = []
    stage.run.watcher = lambda record, status: asked.append(record.step)
    stage.run.stop_asked = lambda: 2 in asked
    assert loop.train(stage.run) is Ending.STOPPED
    assert sorted(path.name for path in paths.checkpoints.glob("step-*")) == ["step-000002"]
    again = Stage(
        paths, stack, log=RunLog(paths, now=lambda: 0.0, after=2), snapshot=stage.run.snapshot
    )
    again.learner.policy_version = again.sampler.policy_version = 2
    again.learner.expects = [5, 6]
    assert loop.train(again.run) is Ending.FINISHED
    # Step 3 was dropped, and is played again right after the checkpoint.
    assert again.staleness() == [0, 1, 0, 0, 1, 1]
    assert [one["policy_version"] for one in again.records()] == [0, 0, 2, 3, 3, 4]


def test_a_replay_overlaps_where_the_records_say_so_and_equals_them(
    stage: Stage, paths: RunPaths, stack: ExitStack
) -> None:
    stage.edit_after_the_first("user.max_reveals", 3)
    loop.train(stage.run)
    before, told = paths.steps.read_bytes(), len(tiny_run.events(paths))
    again = Stage(paths, stack, log=RunLog(paths, now=lambda: 0.0))
    assert loop.train(again.run) is Ending.FINISHED
    assert paths.steps.read_bytes() == before
    assert again.learner.ahead == [2, 3, 5, 6]
    new = [one["kind"] for one in tiny_run.events(paths)[told:]]
    assert new == ["checkpoint"] * 2 + ["run_finished"]


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the run comes after it."""


def test_a_step_that_was_being_learnt_from_is_played_again_under_what_it_was_under(
    stage: Stage, paths: RunPaths, stack: ExitStack
) -> None:
    """Its successor may have been dealt under a later revision when the run was killed."""
    stage.edit_after_the_first("user.max_reveals", 3)
    learnt = stage.learner.step

    def killed_in_the_second(
        trajectories: Sequence[Trajectory], settings: LearnSettings
    ) -> UpdateStats:
        if stage.learner.policy_version == 1:
            raise Killed
        return learnt(trajectories, settings)

    stage.learner.step = killed_in_the_second
    with pytest.raises(Killed):
        loop.train(stage.run)
    told = tiny_run.status(paths)["under_way"]
    assert (told["step"], told["revision"]) == (2, 0)
    again = Stage(paths, stack, log=RunLog(paths, now=lambda: 0.0))
    assert loop.train(again.run) is Ending.FINISHED
    assert [one["revision"] for one in again.records()] == [0, 0, 1, 1, 1, 1]
    assert again.staleness() == SCHEDULE
    assert {one["step"] for one in tiny_run.events(paths, "knob_adopted")} == {3}


def test_a_planted_fault_is_in_force_from_its_step_on(stage: Stage) -> None:
    fault = PlantedFault(step=3, knobs={"environment.max_steps": 9}, reason="few turns")
    stage.run.config = replace(stage.run.config, plant={"short": fault})
    loop.train(stage.run)
    assert [one["revision"] for one in stage.records()] == [0, 0, 1, 1, 1, 1]
    (planted,) = tiny_run.events(stage.run.paths, "fault_planted")
    assert planted["step"] == 3


def test_an_outage_is_noticed_before_more_is_played(stage: Stage) -> None:
    host = stage.run.scene.places.at(0).worlds
    assert isinstance(host, AnyHost)
    host.broken = True
    rollout = replace(stage.run.config.rollout, dialogues_per_step=30)
    stage.run.config = replace(stage.run.config, rollout=rollout)
    assert loop.train(stage.run) is Ending.FAILED
    # Nothing was learnt, so nobody's weights are old; 64 faults in a row end it, as ever.
    assert [(one["updated"], one["staleness"]) for one in stage.records()] == [(False, 0)] * 3
    assert "max_consecutive_faults is 64" in tiny_run.status(stage.run.paths)["reason"]


def test_the_last_step_has_nothing_beside_it(stage: Stage) -> None:
    stage.run.config = replace(stage.run.config, total_steps=5)
    stage.learner.expects = [2, 3, 5]
    assert loop.train(stage.run) is Ending.FINISHED
    assert stage.sampler.held == [{2}, {3}, {5}]
    assert tiny_run.status(stage.run.paths)["stage"] == "done"


def test_tokens_that_are_granted_end_a_run_before_another_step_is_played(stage: Stage) -> None:
    stage.run.config = replace(stage.run.config, max_action_tokens=1)
    assert loop.train(stage.run) is Ending.FINISHED
    assert stage.sampler.heard == {1}


def test_steps_take_turns_unless_a_recipe_asks_for_more() -> None:
    assert not recipe_file.load("demo").rollout.overlap
    config = recipe_file.load("demo", ["rollout.overlap=true"])
    assert list(preflight.faults(config)) == []


def test_several_ranks_and_a_missing_correction_are_told_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uncorrected = recipe_file.load("demo", ["rollout.overlap=true", "learner.tis_cap=null"])
    (fault,) = preflight.faults(uncorrected)
    assert "learner.tis_cap null" in fault and "such as 2.0" in fault
    monkeypatch.setenv("WORLD_SIZE", "2")
    config = recipe_file.load("demo-deepspeed", ["rollout.overlap=true"])
    assert any("rollout.overlap is true on 2 ranks" in one for one in preflight.faults(config))
