"""A knob that the run's method does not read cannot be changed, by whatever door."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.contract import launch_record, ledger
from gate.contract.knobs import Refused
from gate.contract.paths import RunPaths
from gate.guard import Guard, setting
from tests import live_run, proposed

IDLE = "agent.gae_lambda"


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    run = live_run.launch(tmp_path / "first")
    proposed.log_steps(run, 30)
    proposed.record_launch(run)
    return run


def method(run: RunPaths, credit: str) -> None:
    with run.launch.open("a") as stream:
        stream.write(f"  learner:\n    credit: {credit}\n")
    assert launch_record.credit(run.root) == credit


def refused(run: RunPaths) -> list[str]:
    guard = Guard.open(run, worlds=live_run.WORLDS)
    status = guard.reconcile(31, success_history=(), now=1.0)
    told = [finding for one in status.proposals for finding in one.findings]
    return [one.rule for one in (*status.refused, *told)]


def test_a_saved_file_is_refused_with_the_method_that_does_not_read_it(run: RunPaths) -> None:
    method(run, "grpo")
    live_run.save(run, IDLE, 0.9)
    assert refused(run) == ["rules.acts"]
    assert len(ledger.revisions(run.ledger)) == 1


def test_a_command_is_refused(run: RunPaths) -> None:
    method(run, "faca")
    with pytest.raises(Refused, match="this run's credit is faca"):
        setting.set_knob(
            run, IDLE, 0.9, reason="a test", worlds=live_run.WORLDS, now=1.0, timeout_s=1.0
        )


def test_a_proposal_is_refused(run: RunPaths) -> None:
    method(run, "infopo")
    proposed.submit(run, changes={"agent.critic_lr": 2e-5})
    assert refused(run) == ["rules.acts"]


def test_a_method_with_a_critic_reads_it(run: RunPaths) -> None:
    method(run, "gae")
    live_run.save(run, IDLE, 0.9)
    assert refused(run) == []


def test_a_run_that_does_not_tell_its_method_is_left_alone(run: RunPaths) -> None:
    assert launch_record.credit(run.root) is None
    live_run.save(run, IDLE, 0.9)
    assert refused(run) == []


def test_a_run_without_a_launch_record_tells_no_method(tmp_path: Path) -> None:
    assert launch_record.credit(tmp_path) is None
