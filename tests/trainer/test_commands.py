"""Commands: what cannot be used is one clear error and exit code 2, and nothing is written over."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests import jobs, live_run, tiny_run
from tests.nursery import Child, Nursery


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_run.write_recipe(tmp_path)
    return tmp_path


def train(nursery: Nursery, folder: Path, *words: str) -> Child:
    places = ("--runs", str(folder / "runs"), "--starting-knobs", str(folder / "knobs"))
    recipe = str(folder / "tiny.yaml")
    return nursery.run("command", "train", recipe, "--run-id", "first", *places, *words)


def assert_refused(child: Child, message: str) -> None:
    assert child.returncode == 2, child.told()
    assert "error: " in child.told() and message in child.told()
    assert "Traceback" not in child.told()


@pytest.mark.parametrize("content", ["not json", "[1, 2]", '[{"id": "x"}]', "{}", "", "[]"])
@pytest.mark.parametrize("world", ["intention", "travel"])
def test_a_task_file_that_is_wrong_is_one_error_before_anything_is_written(
    nursery: Nursery, folder: Path, world: str, content: str
) -> None:
    tasks = folder / "tasks.json"
    tasks.write_text(content, "utf-8")
    child = train(nursery, folder, "--set", f"worlds={{{world}: {{source: {tasks}}}}}")
    assert_refused(child, f"worlds.{world}")
    assert not (folder / "runs").exists()


def test_a_recipe_that_is_wrong_is_one_error(nursery: Nursery, folder: Path) -> None:
    child = train(nursery, folder, "--set", "policy.size.hiden=32")
    assert_refused(child, "unknown setting 'hiden'; did you mean 'hidden'?")
    assert not (folder / "runs").exists()


def test_a_starting_knob_that_is_wrong_is_one_error_with_its_place(
    nursery: Nursery, folder: Path
) -> None:
    path = folder / "knobs" / "agent.yaml"
    path.write_bytes(live_run.with_value(path.read_bytes(), "gae_lambda", 1.5))
    assert_refused(train(nursery, folder), f"{path}:")
    assert not (folder / "runs").exists()


def test_a_run_of_that_name_is_not_written_over(nursery: Nursery, folder: Path) -> None:
    (folder / "runs" / "first").mkdir(parents=True)
    (folder / "runs" / "first" / "run.yaml").write_text("mine")
    assert_refused(train(nursery, folder), "exists; choose another name with --run-id")
    assert (folder / "runs" / "first" / "run.yaml").read_text() == "mine"


@pytest.mark.parametrize("command", ["resume", "evaluate", "show"])
def test_a_run_that_is_not_there_is_one_error(nursery: Nursery, folder: Path, command: str) -> None:
    child = nursery.run("command", command, "nowhere", "--runs", str(folder / "runs"))
    assert_refused(child, "no run 'nowhere'; known: (none yet)")


def test_a_run_from_its_launch_to_its_reading(nursery: Nursery, folder: Path) -> None:
    child = train(nursery, folder, "--set", "total_steps=2")
    assert child.returncode == 0, child.told()
    root = folder / "runs" / "first"
    assert "finished: " in child.told() and child.told().count("success") >= 3
    runs = ("--runs", str(folder / "runs"))
    shown = nursery.run("command", "show", "latest", *runs, "--limit", "1")
    assert shown.returncode == 0 and "000002-00" in shown.told()
    as_json = nursery.run("command", "show", *runs, "--episode", "000001-01", "--json")
    assert json.loads(as_json.told())["id"] == "000001-01"
    nobody = nursery.run("command", "show", *runs, "--episode", "000009-00")
    assert nobody.returncode == 1 and "no such episode" in nobody.told()
    assert tiny_run.alive(root) == []


def test_a_second_signal_ends_a_run_at_once_and_leaves_no_process(
    nursery: Nursery, seedling: Path, tmp_path: Path
) -> None:
    run = jobs.copy_run(seedling, tmp_path / "run")
    env = run.world / "0000" / "travel" / "env.py"
    hostile = Path(__file__).parent / "worlds" / "hostile" / "hangs" / "env.py"
    env.write_bytes(hostile.read_bytes())
    child = nursery.begin("command", "resume", run.root)
    # The tool sleeps for an hour and its deadline is far away: the run is in a step.
    while not (run.status.is_file() and tiny_run.status(run)["stage"] == "rollout"):
        assert not child.ended(), child.told()
        time.sleep(0.01)
    child.kill(signal.SIGINT)
    time.sleep(0.05)
    child.kill(signal.SIGINT)
    assert child.wait() != 0
    assert tiny_run.alive(run.root) == []
    status = tiny_run.status(run)
    assert (status["phase"], status["reason"]) == ("failed", "KeyboardInterrupt")
    env.write_bytes((seedling / "world/0000/travel/env.py").read_bytes())
    again = nursery.run("resume", run.root, stop_after=2)
    assert again.returncode == 0, again.told()
