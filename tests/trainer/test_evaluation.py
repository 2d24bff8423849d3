"""Evaluation is pinned: what training did changes no result, and nothing of the run is written."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate.contract import knobs
from gate.contract.paths import RunPaths
from tests import jobs
from tests.nursery import Nursery
from trainer import evaluation
from trainer.evaluation import EvaluationError, wilson

LIMIT = 6


@pytest.fixture(scope="module")
def trained(nursery: Nursery, seedling: Path, tmp_path_factory: pytest.TempPathFactory) -> RunPaths:
    run = jobs.copy_run(seedling, tmp_path_factory.mktemp("trained") / "run")
    child = nursery.run("resume", run.root, stop_after=2)
    assert child.returncode == 0, child.told()
    return run


@pytest.fixture
def run(trained: RunPaths, tmp_path: Path) -> RunPaths:
    return jobs.copy_run(trained.root, tmp_path / "runs" / "run")


@pytest.fixture(scope="module")
def first(
    nursery: Nursery, trained: RunPaths, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What an untouched copy of the run is worth."""
    folder = tmp_path_factory.mktemp("first")
    run = jobs.copy_run(trained.root, folder / "run")
    return evaluate(nursery, run, folder / "evaluations")


def evaluate(nursery: Nursery, run: RunPaths, root: Path) -> dict[str, Any]:
    child = nursery.run("evaluate", run.root, LIMIT, root)
    assert child.returncode == 0, child.told()
    return json.loads(Path(child.told().splitlines()[-1]).read_bytes())


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b"/"
        for path in root.rglob("*")
    }


def test_what_training_did_to_knobs_and_worlds_changes_no_result(
    nursery: Nursery, run: RunPaths, first: dict[str, Any], tmp_path: Path
) -> None:
    changes = {
        "user": {"max_reveals": 5, "facts_per_reply": 3, "user_strategy_mix": 0.0},
        "environment": {"max_steps": 60, "tool_deadline_s": 0.05},
        "reward": {"task_weight": 0.1},
    }
    for name, values in changes.items():
        jobs.save_knobs(run, name, values)
    shutil.copytree(run.world / "0000", run.world / "0001")
    (run.world / "0001" / "travel" / "env.py").write_text("raise SystemExit")
    assert evaluate(nursery, run, tmp_path / "evaluations") == first


def test_a_result_says_what_was_measured_and_under_what(first: dict[str, Any]) -> None:
    assert first["policy"] == "run/step-000002"
    assert (first["policy_version"], first["num_tasks"], first["finished"]) == (2, LIMIT, LIMIT)
    assert first["knobs_digest"] == evaluation.pinned_knobs(["travel"]).digest
    low, high = first["interval"]
    assert 0 <= low <= first["success"] <= high <= 1
    for name in ("world_digest", "tasks_digest", "decoding"):
        assert first[name]


def test_trials_of_a_task_are_told_as_a_table_and_as_json(
    nursery: Nursery, run: RunPaths, tmp_path: Path
) -> None:
    words = (tmp_path / "evaluations", run.root, "--trials", "2", "--limit", "3")
    shown = nursery.run("evaluate_command", *words)
    told = nursery.run("evaluate_command", *words, "--json")
    assert shown.returncode == told.returncode == 0, shown.told() + told.told()
    assert "pass^k: all of k" in shown.told() and "pass@k: any of k" in shown.told()
    result = json.loads(told.told().splitlines()[-1])
    assert (result["trials"], result["finished"]) == (2, 6)
    first, second = result["by_world"]["travel"]["reliability"]
    assert (first["k"], second["k"], second["num_tasks"]) == (1, 2, 3)
    assert first["pass_hat"] == first["pass_at"] == pytest.approx(result["success"], abs=1e-6)
    assert second["pass_hat"] <= first["pass_hat"] <= second["pass_at"]


def test_nothing_in_the_run_is_written(nursery: Nursery, run: RunPaths, tmp_path: Path) -> None:
    before = contents(run.root)
    evaluate(nursery, run, tmp_path / "evaluations")
    assert contents(run.root) == before
    (result,) = (tmp_path / "evaluations").iterdir()
    assert sorted(path.name for path in result.iterdir()) == ["episodes.jsonl", "result.json"]
    assert len((result / "episodes.jsonl").read_bytes().splitlines()) == LIMIT


def test_a_second_evaluation_does_not_write_over_the_first(
    nursery: Nursery, run: RunPaths, tmp_path: Path
) -> None:
    results = [evaluate(nursery, run, tmp_path / "evaluations") for _ in range(2)]
    assert results[0] == results[1]
    assert len(list((tmp_path / "evaluations").iterdir())) == 2


def test_a_changed_world_of_the_launch_is_refused(
    nursery: Nursery, run: RunPaths, tmp_path: Path
) -> None:
    with (run.world / "0000" / "travel" / "verifier.py").open("a") as file:
        file.write("# kinder\n")
    child = nursery.run("command", "evaluate", run.root)
    assert child.returncode == 2
    assert "is not what the run was launched with" in child.told()


@pytest.fixture
def root_variable() -> Iterator[None]:
    before = os.environ.get(evaluation.ROOT_VARIABLE)
    yield
    os.environ.pop(evaluation.ROOT_VARIABLE, None)
    if before is not None:
        os.environ[evaluation.ROOT_VARIABLE] = before


@pytest.mark.usefixtures("root_variable")
@pytest.mark.parametrize("inside", [".", "evaluations", "episodes/deep"])
def test_results_never_enter_a_run(tmp_path: Path, inside: str) -> None:
    (tmp_path / "run.yaml").write_text("run: x")
    os.environ[evaluation.ROOT_VARIABLE] = str(tmp_path / inside)
    with pytest.raises(EvaluationError, match="evaluation output never enters a run"):
        evaluation.root()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--checkpoint", "77"), "step-000077: manifest.json is missing"),
        (("--tasks", "nothing-*"), "no evaluation task matches 'nothing-*'"),
    ],
)
def test_a_wrong_question_is_one_clear_error(
    nursery: Nursery, run: RunPaths, words: tuple[str, ...], message: str
) -> None:
    child = nursery.run("command", "evaluate", run.root, *words)
    assert child.returncode == 2
    assert message in child.told()
    assert "Traceback" not in child.told()


def test_the_evaluation_user_is_the_symbolic_one_under_the_declared_defaults() -> None:
    pinned = evaluation.pinned_knobs(["travel"])
    differ = {change.path for change in knobs.diff(knobs.defaults(), pinned)}
    assert differ <= {"user.user_strategy_mix", "environment.max_steps"}
    assert pinned.get("user.user_strategy_mix") == 1.0


@pytest.mark.parametrize(
    ("world", "limit"), [("travel", 16), ("colbench", 10), ("tau2_telecom", 50)]
)
def test_every_world_is_played_up_to_its_own_turn_limit(world: str, limit: int) -> None:
    pinned = evaluation.pinned_knobs([world, "search"])
    assert pinned.get("environment.max_steps", world) == limit
    assert pinned.get("environment.max_steps", "search") == 16


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (8, 10, 0.490162, 0.943318),
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (5, 10, 0.236593, 0.763407),
        (1, 100, 0.001767, 0.054486),
        (0, 0, 0.0, 1.0),
    ],
)
def test_the_interval_is_wilsons(successes: float, n: int, low: float, high: float) -> None:
    assert wilson(successes, n) == pytest.approx((low, high), abs=2e-6)
