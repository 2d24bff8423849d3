"""The loop: what it looks at between steps, how it ends, and what it tells on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files
from gate.contract.files import DiskFull
from tests import live_run, tiny_run
from tests.trainer.scripted_run import AnyHost, CountingLearner, make
from trainer import loop
from trainer.checkpoint import snapshot_from_json
from trainer.loop import Ending, Run
from trainer.run import DISK_RETRY_S
from trainer.runlog import RunLog


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return make(live_run.launch(tmp_path / "run"))


def checkpoints(run: Run) -> list[str]:
    return sorted(path.name for path in run.paths.checkpoints.glob("step-*"))


def steps(run: Run) -> list[int]:
    return [record["step"] for record in files.read_lines(run.paths.steps).records]


def at_step(run: Run, step: int, act: Callable[[], object]) -> None:
    """Do something once a step is recorded."""

    def watch(record: Any, status: Any) -> None:
        if record.step == step:
            act()

    run.watcher = watch


def test_a_run_ends_after_its_last_step_with_a_checkpoint(run: Run) -> None:
    assert loop.train(run) is Ending.FINISHED
    assert steps(run) == [1, 2, 3, 4, 5, 6]
    assert checkpoints(run) == ["step-000004", "step-000006"]
    status = tiny_run.status(run.paths)
    assert (status["phase"], status["step"], status["total_steps"]) == ("finished", 6, 6)
    told = tiny_run.events(run.paths, "checkpoint")
    assert [event["step"] for event in told] == [2, 4, 6], "none is written twice"


def test_asked_to_stop_it_stops_after_the_step_with_a_checkpoint(run: Run) -> None:
    run.stop_asked = lambda: run.snapshot.step == 3
    assert loop.train(run) is Ending.STOPPED
    assert steps(run) == [1, 2, 3]
    assert checkpoints(run)[-1] == "step-000003"


def test_an_edit_during_the_last_step_can_still_move_the_end(run: Run) -> None:
    at_step(run, 6, lambda: live_run.save(run.paths, "agent.total_steps", 8))
    assert loop.train(run) is Ending.FINISHED
    assert steps(run)[-1] == 8


def test_an_end_at_or_below_the_present_step_ends_at_once(run: Run) -> None:
    at_step(run, 3, lambda: live_run.save(run.paths, "agent.total_steps", 3))
    assert loop.train(run) is Ending.STOPPED
    assert steps(run) == [1, 2, 3]
    assert checkpoints(run)[-1] == "step-000003"


def test_an_update_that_is_not_finite_ends_the_run_and_says_why(run: Run) -> None:
    run.learner = CountingLearner(fails_at=4)
    assert loop.train(run) is Ending.FAILED
    assert steps(run) == [1, 2, 3]
    status = tiny_run.status(run.paths)
    assert (status["phase"], status["reason"]) == ("failed", "policy_loss is nan")
    (failed,) = tiny_run.events(run.paths, "update_failed")
    assert (failed["step"], failed["detail"]) == (4, {"reason": "policy_loss is nan"})
    assert checkpoints(run) == ["step-000002"], "the last good one"


def test_an_edit_reaches_the_update_of_the_next_step_and_its_record(run: Run) -> None:
    at_step(run, 2, lambda: live_run.save(run.paths, "agent.gae_lambda", 0.9))
    loop.train(run)
    assert isinstance(run.learner, CountingLearner)
    assert [one.gae_lambda for one in run.learner.settings] == [0.95] * 2 + [0.9] * 4
    revisions = [record["revision"] for record in tiny_run.told_steps(run.paths)]
    assert revisions == [0, 0, 1, 1, 1, 1]
    (adopted,) = tiny_run.events(run.paths, "knob_adopted")
    assert adopted["step"] == 3
    assert adopted["detail"]["changes"] == [{"path": "agent.gae_lambda", "old": 0.95, "new": 0.9}]


def test_a_refusal_is_one_event_and_told_in_every_status(run: Run) -> None:
    told: list[int] = []

    def watch(record: Any, status: Any) -> None:
        if record.step == 2:
            live_run.save(run.paths, "agent.gae_lambda", 1.5)
        told.append(len(tiny_run.status(run.paths)["refused"]))

    run.watcher = watch
    loop.train(run)
    assert told == [0, 0, 1, 1, 1, 1]
    assert len(tiny_run.events(run.paths, "knob_refused")) == 1


def test_a_reward_that_never_changes_is_told_once_and_not_in_a_replay(tmp_path: Path) -> None:
    paths = live_run.launch(tmp_path / "run")
    live_run.save(paths, "agent.total_steps", 12)
    first = make(paths)
    loop.train(first)
    (told,) = tiny_run.events(paths, "constant_reward")
    assert (told["step"], told["detail"]["steps"]) == (10, 10)
    assert tiny_run.status(paths)["health"]["constant_reward"]
    before = paths.steps.read_bytes()
    again = make(paths, log=RunLog(paths, now=lambda: 0.0))
    assert loop.train(again) is Ending.FINISHED
    assert paths.steps.read_bytes() == before
    assert len(tiny_run.events(paths, "constant_reward")) == 1
    assert tiny_run.events(paths, "resume_difference") == []


def test_a_replay_that_differs_is_told_with_the_fields(run: Run) -> None:
    loop.train(run)
    lines = run.paths.steps.read_bytes().replace(b'"action_tokens":', b'"action_tokens":1')
    run.paths.steps.write_bytes(lines)
    again = make(run.paths)
    loop.train(again)
    told = tiny_run.events(run.paths, "resume_difference")
    assert [event["step"] for event in told] == [1, 2, 3, 4, 5, 6]
    assert told[0]["detail"] == {"fields": ["action_tokens"], "winner": "replay"}
    assert run.paths.steps.read_bytes() == lines, "what is on file is never rewritten"


def breaking(run: Run) -> AnyHost:
    """Let every episode of a run break; returns its worlds."""
    host = run.scene.places.at(0).worlds
    assert isinstance(host, AnyHost)
    host.broken = True
    return host


def test_a_step_in_which_all_breaks_updates_nothing_and_goes_on(run: Run) -> None:
    breaking(run)
    run.config = replace(run.config, rollout=replace(run.config.rollout, dialogues_per_step=30))
    assert loop.train(run) is Ending.FAILED
    records = tiny_run.told_steps(run.paths)
    assert [(one["quarantined"], one["updated"]) for one in records] == [(30, False)] * 3
    assert run.snapshot.faults_in_a_row == 90
    assert "max_consecutive_faults is 64" in tiny_run.status(run.paths)["reason"]
    assert checkpoints(run)[-1] == "step-000003"
    assert len(tiny_run.events(run.paths, "quarantined")) == 90


def test_a_run_that_gave_up_may_try_again_when_it_is_resumed(run: Run) -> None:
    breaking(run)
    run.config = replace(run.config, rollout=replace(run.config.rollout, dialogues_per_step=64))
    assert loop.train(run) is Ending.FAILED
    assert steps(run) == [1]
    assert loop.train(run) is Ending.FAILED
    assert steps(run) == [1, 2], "one step more, since somebody may have mended it"


def test_a_change_of_revision_is_another_chance(run: Run) -> None:
    host = breaking(run)
    run.config = replace(run.config, rollout=replace(run.config.rollout, dialogues_per_step=64))

    def mend() -> None:
        host.broken = False
        live_run.save(run.paths, "user.llm_temperature", 0.5)

    at_step(run, 1, mend)
    assert loop.train(run) is Ending.FINISHED
    records = tiny_run.told_steps(run.paths)
    assert [one["quarantined"] for one in records] == [64, 0, 0, 0, 0, 0]


def full_for(attempts: int, *, error: Mapping[str, Any] | None = None) -> Callable[[], str]:
    left = [attempts]

    def act() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise DiskFull(28, "No space left on device", "x")
        return "done"

    return act


def test_a_full_disk_is_waited_out_and_told_afterwards(run: Run) -> None:
    waits: list[float] = []
    run.sleep = waits.append
    assert loop.with_room(run, full_for(3)) == "done"
    assert waits == [DISK_RETRY_S] * 3
    assert len(tiny_run.events(run.paths, "disk_full")) == 1
    assert tiny_run.status(run.paths)["phase"] == "training"


def test_while_it_waits_the_status_says_so(run: Run) -> None:
    seen: list[Any] = []
    run.sleep = lambda _: seen.append(tiny_run.status(run.paths))
    loop.with_room(run, full_for(1))
    assert seen[0]["phase"] == "paused"
    assert "No space left on device" in seen[0]["reason"]


def test_somebody_who_asks_for_a_stop_does_not_wait_for_room(run: Run) -> None:
    run.stop_asked = lambda: True
    with pytest.raises(DiskFull):
        loop.with_room(run, full_for(1))


def test_with_stop_in_force_a_full_disk_is_an_error_at_once(run: Run) -> None:
    live_run.save(run.paths, "agent.on_disk_full", "stop")
    loop.reconcile(run, 1)
    with pytest.raises(DiskFull):
        loop.with_room(run, full_for(1))


def test_a_run_ends_when_the_policy_has_written_its_tokens(run: Run) -> None:
    run.config = replace(run.config, max_action_tokens=1)
    assert loop.train(run) is Ending.FINISHED
    (record,) = tiny_run.told_steps(run.paths)
    assert run.snapshot.action_tokens == record["action_tokens"] >= 1


def test_a_resumed_run_knows_how_many_tokens_were_written(run: Run) -> None:
    loop.train(run)
    assert snapshot_from_json(run.snapshot.to_json()) == run.snapshot
    told = tiny_run.told_steps(run.paths)
    assert run.snapshot.action_tokens == sum(record["action_tokens"] for record in told)
