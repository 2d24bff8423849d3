"""Servers write the next step while the learner learns, under the stamp that they serve.

SGLang 0.5.23 on the CPU in float32, from `.venv-sglang`; about two minutes on two free cores.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import tiny_run
from tests.scale import install_sglang
from tests.scale.test_sglang import section
from trainer import launch, recipe_file, session
from trainer.loop import Ending
from trainer.policy.sglang_agreement import BOUNDS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not install_sglang.PYTHON.exists(), reason="`make sglang` installs the server"
    ),
]


def test_a_run_whose_steps_overlap_trains_through_a_server(tmp_path: Path) -> None:
    recipe = tiny_run.write_recipe(tmp_path)
    wanted = ["total_steps=5", "checkpoint.every=5", "rollout.overlap=true"]
    config = replace(
        recipe_file.load(str(recipe), wanted), sampler=section(exchange=str(tmp_path / "exchange"))
    )
    planned = launch.plan(config, runs=tmp_path / "runs", knob_dir=tmp_path / "knobs", run_id="run")
    assert session.start(planned, Console(quiet=True)) is Ending.FINISHED
    paths = RunPaths(tmp_path / "runs" / "run")
    steps = files.read_lines(paths.steps).records
    assert [step["staleness"] for step in steps] == [0, 1, 1, 1, 1]
    assert [step["quarantined"] for step in steps] == [0] * 5
    assert len({step["params_digest"] for step in steps}) == 5, "every step moved the policy"
    for step in steps:
        told = files.read_lines(paths.episodes_of(step["step"])).records
        assert {episode["policy_version"] for episode in told} == {step["policy_version"]}
        assert step["policy_version"] == step["step"] - 1 - step["staleness"]
    rounding = BOUNDS[torch.float32].most
    gaps = [step["learner"]["sampler_logprob_gap_max"] for step in steps]
    assert gaps[0] <= rounding < min(gaps[1:]), "a late batch differs by what was learnt"
    health = tiny_run.status(paths)["health"]["sampler"]
    assert health["logprob_gap_max"] <= rounding, "the proof after a sync is as strict as ever"
