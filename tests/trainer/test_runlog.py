"""The run log appends, compares what is replayed, and survives a line that was cut short."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files, records
from gate.contract.paths import RunPaths
from gate.contract.records import EpisodeRecord, StepRecord
from tests.trainer.rollout import cast
from trainer import runlog, summary
from trainer.episode import Episode, RewardEvent, Speaker, StopReason, Turn, Voice
from trainer.rollout.collect import Rollout
from trainer.rollout.schedule import Assignment
from trainer.runlog import REMEMBERED_STEPS, RunLog
from trainer.task import Task


@pytest.fixture
def run(run_dir: Path) -> RunPaths:
    paths = RunPaths(run_dir)
    paths.episodes.mkdir()
    return paths


def log(run: RunPaths, *, after: int = 0) -> RunLog:
    return RunLog(run, now=lambda: 5.0, after=after)


CONDITIONS = cast.conditions()


def step(number: int, **other: Any) -> StepRecord:
    values: dict[str, Any] = {field.name: 0 for field in fields(StepRecord)}
    for name in ("stop_reasons", "learner", "success_by_arm", "episodes_by_arm", "metrics"):
        values[name] = {}
    return StepRecord(**{**values, "step": number, "reward": 0.5, "time": 1.0, **other})


def test_a_step_is_one_line_and_its_episodes_one_file(run: RunPaths) -> None:
    assert log(run).step(step(1), []) == []
    assert [record["step"] for record in files.read_lines(run.steps).records] == [1]
    assert run.episodes_of(1).read_bytes() == b""


def test_a_step_on_file_is_compared_and_not_written_again(run: RunPaths) -> None:
    log(run).step(step(1, step_s=1.0), [])
    before = run.steps.read_bytes()
    again = log(run)
    assert again.last_step == 1
    assert again.step(step(1, step_s=2.0, time=9.0), []) == []
    assert again.step(step(1, reward=0.25, params_digest="other"), []) == [
        "params_digest",
        "reward",
    ]
    assert run.steps.read_bytes() == before


def test_a_torn_last_line_is_no_step_and_no_obstacle(run: RunPaths) -> None:
    for number in (1, 2):
        log(run).step(step(number), [])
    content = run.steps.read_bytes()
    run.steps.write_bytes(content[:-40])
    again = log(run)
    assert (again.last_step, again.logged(2)) == (1, None)
    again.step(step(2), [])
    found = files.read_lines(run.steps)
    assert [record["step"] for record in found.records] == [1, 2]
    assert found.torn == 1


def test_only_the_end_of_a_long_file_is_kept_in_memory(run: RunPaths) -> None:
    first = log(run)
    for number in range(1, 101):
        first.step(step(number), [])
    assert first.logged(100 - REMEMBERED_STEPS - 1) is None
    again = log(run, after=95)
    assert again.last_step == 100
    assert [number for number in range(1, 101) if again.logged(number)] == list(
        range(95 - REMEMBERED_STEPS + 1, 101)
    )


def test_steps_after_one_are_read_from_the_end_and_no_further(run: RunPaths) -> None:
    run.steps.write_bytes(b'not read\n{"step":1}\n{"step":2}\n{"step":3}\n{"no":1}\n{"step":4')
    found = runlog.steps_after(run.steps, 1)
    assert [record["step"] for record in found.records] == [2, 3]
    assert found.torn == 2
    assert runlog.steps_after(run.root / "nowhere", 0) == runlog.LoggedSteps((), 0)


def test_an_event_must_be_declared(run: RunPaths) -> None:
    log(run).event("checkpoint", 3, directory="step-000003")
    (event,) = files.read_lines(run.events).records
    assert event == {
        "kind": "checkpoint",
        "step": 3,
        "detail": {"directory": "step-000003"},
        "time": 5.0,
    }
    with pytest.raises(ValueError, match="no event kind 'surprise'; declare it"):
        log(run).event("surprise", 1)


def test_a_status_keeps_what_is_not_told_anew(run: RunPaths) -> None:
    mine = log(run)
    mine.status(phase="training", step=3)
    mine.status(stage="rollout")
    status = json.loads(run.status.read_bytes())
    assert (status["phase"], status["step"], status["stage"]) == ("training", 3, "rollout")
    assert set(status) == {field.name for field in fields(records.StatusRecord)}


def turn(speaker: Speaker, text: str, number: int = 0, **other: Any) -> Turn:
    return Turn(speaker, text, number, **other)


EPISODE = Episode(
    id="000001-00",
    task_id="t-1",
    world="travel",
    arm=Voice.SYMBOLIC,
    turns=(
        turn(Speaker.SYSTEM, "rules"),
        turn(Speaker.USER, "hello"),
        turn(Speaker.AGENT, "which?"),
        turn(
            Speaker.USER,
            "the blue one",
            voice=Voice.SYMBOLIC,
            revealed=("P1",),
            private={"rule": "reveal", "thought": "hm"},
            events=("preference_elicited",),
        ),
        turn(Speaker.AGENT, "[answer] B", 1),
    ),
    rewards=(RewardEvent("ask", 0.1, 0), RewardEvent("task", 1.0, 1)),
    stop=StopReason.SOLVED,
    revision=2,
    seed=11,
    success=1.0,
    metrics={"all_best": 1.0},
)
SPOILT = replace(
    EPISODE,
    id="000001-01",
    stop=StopReason.WORLD_DIED,
    rewards=(),
    success=None,
    metrics={},
    error="killed",
)
DROPPED = replace(SPOILT, id="000001-02", stop=StopReason.NO_ACTION, turns=EPISODE.turns[:2])


def test_an_episode_is_written_with_every_declared_field() -> None:
    assignment = Assignment("000001-00", Task("t-1", "travel", "g", "o"), "000001-g00", 0, 11)
    record = runlog.episode_record(
        EPISODE, assignment, step=1, policy_version=4, num_tokens=(50, 9)
    )
    values = records.to_json(record)
    assert set(values) == {field.name for field in fields(EpisodeRecord)}
    assert (values["reward"], values["outcome"]) == (1.1, "finished")
    assert values["turns"][3] == {
        "speaker": "user",
        "text": "the blue one",
        "agent_turn": 0,
        "voice": "symbolic",
        "revealed": ["P1"],
        "events": ["preference_elicited"],
        "private": {"rule": "reveal", "thought": "hm"},
    }
    assert (values["num_tokens"], values["num_action_tokens"]) == (50, 9)


def test_a_summary_counts_every_episode_and_averages_the_finished() -> None:
    rollout = Rollout(
        episodes=(EPISODE, SPOILT, DROPPED),
        trajectories=(),
        num_tokens={"000001-00": (50, 9), "000001-01": (20, 3), "000001-02": (10, 0)},
        timings={},
    )
    told = summary.summarise(rollout, CONDITIONS)
    assert (told["started"], told["finished"], told["quarantined"], told["dropped"]) == (3, 1, 1, 1)
    assert told["stop_reasons"] == {"no_action": 1, "solved": 1, "world_died": 1}
    assert (told["success"], told["reward"], told["task_reward"]) == (1.0, 1.1, 1.0)
    assert told["shaping_reward"] == pytest.approx(0.1)
    assert told["reward_by_rule"] == {"ask": 0.1, "task": 1.0}
    assert told["metrics"] == {"travel.all_best": 1.0}
    assert (told["facts_revealed"], told["agent_turns"]) == (1.0, 2.0)
    assert (told["action_tokens"], told["total_tokens"]) == (12, 80)


def test_a_step_without_a_finished_episode_has_no_means() -> None:
    rollout = Rollout((SPOILT,), (), {SPOILT.id: (20, 3)}, {})
    told = summary.summarise(rollout, CONDITIONS)
    assert (told["success"], told["reward"], told["task_reward"]) == (None, None, None)
    assert (told["success_by_arm"], told["reward_by_rule"]) == ({}, {})
