"""Every method of credit trains from its recipe, end to end, on a model that is nearly nothing."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from gate.contract import files, knobs
from gate.contract.paths import RunPaths
from tests import tiny_run
from trainer import launch, recipe_file, session
from trainer.launch import LaunchError

METHODS = ("grpo", "faca", "userrl", "infopo")
TINY = (
    "total_steps=2",
    "policy.size={vocab_size: 320, hidden: 32, layers: 1, heads: 2, kv_heads: 1, head_dim: 16, "
    "ffn: 64, max_positions: 512}",
    "policy.warm_start={players: {oracle: 1.0}, episodes: 8, piece_steps: 0, steps: 2, "
    "tokens_per_batch: 512}",
    "rollout.dialogues_per_step=8",
    "rollout.context_tokens=400",
    "checkpoint={every: 10, keep: 1, min_free_mb: 0}",
    "knobs.environment={max_steps: 4}",
)


def plan(folder: Path, recipe: str, *overrides: str) -> launch.LaunchPlan:
    """Plan a tiny run in a folder with a starting set of default knobs."""
    knob_dir = folder / "knobs"
    knob_dir.mkdir(exist_ok=True)
    for name in knobs.FILES:
        (knob_dir / f"{name}.yaml").write_bytes(knobs.render_defaults(name))
    config = recipe_file.load(recipe, [*TINY, *overrides])
    return launch.plan(config, run_id=recipe, runs=folder / "runs", knob_dir=knob_dir)


@pytest.mark.parametrize("name", METHODS)
def test_a_recipe_names_its_method_and_compares_four_rollouts(name: str) -> None:
    config = recipe_file.load(name)
    assert (config.name, config.learner.credit) == (name, name)
    assert config.rollout.group_size == 4
    demo = recipe_file.load("demo")
    assert (config.policy, config.worlds, config.knobs) == (demo.policy, demo.worlds, demo.knobs)


@pytest.mark.parametrize("name", METHODS)
def test_one_rollout_a_task_does_not_launch(tmp_path: Path, name: str) -> None:
    with pytest.raises(LaunchError, match=f"group_size is 1; learner.credit '{name}' compares"):
        plan(tmp_path, name, "rollout.group_size=1")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", METHODS)
def test_two_steps_from_recipe_to_records(tmp_path: Path, name: str) -> None:
    planned = plan(tmp_path, name)
    session.start(planned, Console(file=io.StringIO()))
    paths = RunPaths(planned.root)
    steps = tiny_run.told_steps(paths)
    assert [step["step"] for step in steps] == [1, 2]
    assert "credit_tied_groups" in json.dumps(steps[-1])
    episodes = [
        episode
        for path in sorted(paths.episodes.glob("*.jsonl"))
        for episode in files.read_lines(path).records
    ]
    assert len({episode["id"] for episode in episodes}) == 16
    assert len({episode["seed"] for episode in episodes}) == 16, "no two rollouts share chance"
    assert len({episode["task_id"] for episode in episodes}) <= 4
