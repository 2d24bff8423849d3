"""A run is launched again only for a named fault with its records, and five times at most."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gate.contract import restarts
from gate.contract.paths import RunPaths
from gate.contract.restarts import Fault, RestartRequest
from tests import live_run, proposed
from trainer import iteration
from trainer.iteration import Experiment, Plan

TRAINER = """
import json, os, pathlib, sys, time
words = sys.argv[1:]
sets = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
named = dict(zip(words[1::2], words[2::2]))
run = pathlib.Path(named["--runs"]) / named["--run-id"]
(run / "proposals").mkdir(parents=True)
parent = named.get("--parent")
attempt = 1
if parent:
    text = (run.parent / parent / "run.yaml").read_text()
    attempt = 1 + int(text.split("attempt: ")[1].split()[0])
record = ("run: " + run.name, f"parent: {parent or 'null'}", f"attempt: {attempt}", "")
(run / "run.yaml").write_text("\\n".join(record))
(run / "steps.jsonl").write_text('{"step": 5, "success": 0.5}\\n')
(run / "words.json").write_text(json.dumps(words))
plan = json.loads(os.environ["PLAN"])
ask = plan["ask"][attempt - 1] if attempt <= len(plan["ask"]) else None
if ask:
    value = {"fault": ask, "because": "seen", "author": "test", "sets": plan.get("sets", {}),
             "evidence": {"steps": [plan.get("step", 5)], "episodes": []}}
    (run / "proposals" / "0001.restart.json").write_text(json.dumps(value))
if plan.get("hang") == attempt:
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        (run / "stopped").touch()
sys.exit(plan.get("code", 0))
"""


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    script = tmp_path / "trainer.py"
    script.write_text(TRAINER)

    def made(launches: int = 5, agent: str = "operator", **plan: Any) -> tuple[Experiment, list]:
        monkeypatch.setenv("PLAN", json.dumps(plan))
        told: list[str] = []
        what = Plan("tiny", "exp", tmp_path / "runs", launches, agent, ("total_steps=9",))
        one = Experiment(
            what,
            told.append,
            sleep=lambda _: time.sleep(0.05),
            trainer=(sys.executable, str(script)),
        )
        return one, told

    return made


def words_of(folder: Path) -> list[str]:
    return json.loads((folder / "words.json").read_text())


def test_a_run_that_asks_for_nothing_ends_the_experiment(experiment: Any, tmp_path: Path) -> None:
    one, told = experiment(ask=[])
    assert one.run() == 0 and one.launched == ["exp-1"]
    assert told[-1].endswith("nothing asks for another launch")
    assert "--parent" not in words_of(tmp_path / "runs" / "exp-1")


def test_a_restart_names_its_parent_and_its_fault_and_takes_its_settings(
    experiment: Any, tmp_path: Path
) -> None:
    sets = {"learner.bootstrap_truncated": False, "knobs.agent.actor_lr": 1e-6}
    one, _ = experiment(ask=["policy_collapsed", None], sets=sets)
    assert one.run() == 0 and one.launched == ["exp-1", "exp-2"]
    words = words_of(tmp_path / "runs" / "exp-2")
    assert words[words.index("--parent") + 1] == "exp-1"
    assert words[words.index("--fault") + 1] == "policy_collapsed"
    assert "learner.bootstrap_truncated=false" in words and "total_steps=9" in words
    assert "knobs.agent.actor_lr=1e-06" in words


def test_five_launches_are_all_whatever_is_asked_for(experiment: Any) -> None:
    one, told = experiment(ask=["weights_broken"] * 9, code=1)
    assert one.run() == 1
    assert one.launched == [f"exp-{number}" for number in range(1, 6)]
    assert "this was launch 5 of 5" in told[-1]


def test_a_request_without_its_record_or_its_fault_is_not_granted(experiment: Any) -> None:
    one, told = experiment(ask=["policy_collapsed"], step=99)
    assert one.run() == 0 and one.launched == ["exp-1"] and "step 99" in told[-1]


def test_a_running_launch_is_stopped_when_its_restart_is_granted(
    experiment: Any, tmp_path: Path
) -> None:
    one, told = experiment(ask=["exploit_learnt"], hang=1)
    assert one.run() == 0 and one.launched == ["exp-1", "exp-2"]
    assert (tmp_path / "runs" / "exp-1" / "stopped").exists()
    assert "exp-1 is stopped: a restart of it is granted" in told


def test_the_naive_baseline_has_no_symbolic_user_from_its_first_launch(
    experiment: Any, tmp_path: Path
) -> None:
    one, _ = experiment(ask=[], agent="naive")
    one.run()
    assert "knobs.user.user_strategy_mix=0.0" in words_of(tmp_path / "runs" / "exp-1")


def test_a_decision_reads_the_newest_request(tmp_path: Path) -> None:
    run = live_run.launch(tmp_path / "runs" / "a")
    proposed.log_steps(run, 5)
    proposed.record_launch(run)
    assert not iteration.decide(run, launches=5).granted
    restarts.submit(run, RestartRequest(Fault.POLICY_COLLAPSED, "first", "x", steps=(9,)))
    assert not iteration.decide(run, launches=5).granted
    restarts.submit(run, RestartRequest(Fault.RECORDS_DAMAGED, "second", "x", steps=(3,)))
    found = iteration.decide(run, launches=5)
    assert found.granted and found.because == "records_damaged: second"
    assert not iteration.decide(run, launches=1).granted
    assert not iteration.decide(RunPaths(tmp_path / "none"), launches=5).granted
