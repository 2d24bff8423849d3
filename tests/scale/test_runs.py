"""A run on two ranks is the run of one process, and survives the death of one rank and of all."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import tiny_run
from tests.live_run import with_value
from tests.scale import jobs
from trainer.ppo.weights import read_tensors

pytestmark = jobs.needs_deepspeed

RECIPE = """\
extends: tiny.yaml
name: ranks
total_steps: 14
backend: deepspeed
deepspeed: {zero_stage: 2, bucket_elements: 100000}
rollout: {dialogues_per_step: 6, group_size: 2}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with the recipe and starting knobs."""
    place = tmp_path_factory.mktemp("ranks")
    tiny_run.write_recipe(place)
    (place / "ranks.yaml").write_text(RECIPE, "utf-8")
    return place


def train(folder: Path, name: str, *sets: str) -> list[str]:
    """Return the arguments that train a run."""
    told = [argument for one in sets for argument in ("--set", one)]
    return ["train", str(folder / "ranks.yaml"), "--run-id", name, "--runs", str(folder / "runs"),
            "--starting-knobs", str(folder / "knobs"), *told]  # fmt: skip


def resume(folder: Path, name: str) -> list[str]:
    """Return the arguments that resume a run."""
    return ["resume", name, "--runs", str(folder / "runs")]


def two_ranks(*arguments: str) -> list[str]:
    """Return a command of two ranks under torchrun."""
    return jobs.torchrun(2, "-m", "trainer", *arguments)


@pytest.fixture(scope="module")
def whole(folder: Path) -> RunPaths:
    """Train a run on two ranks that nobody disturbs."""
    jobs.run(two_ranks(*train(folder, "whole")), folder=folder)
    return RunPaths(folder / "runs" / "whole")


def episodes(run: RunPaths, step: int) -> list[dict[str, Any]]:
    """Return the episodes of a step."""
    return [dict(one) for one in files.read_lines(run.episodes_of(step)).records]


def weights(run: RunPaths, step: int) -> dict[str, torch.Tensor]:
    """Return the actor's weights of a checkpoint."""
    return read_tensors(run.checkpoint(step) / "learner" / "actor.safetensors")


def test_two_ranks_play_and_learn_what_one_process_does(folder: Path) -> None:
    alone = [*jobs.python(), "-m", "trainer"]
    jobs.run([*alone, *train(folder, "one", "backend=torch", "total_steps=1")], folder=folder)
    jobs.run(two_ranks(*train(folder, "two", "total_steps=1")), folder=folder)
    one, two = (RunPaths(folder / "runs" / name) for name in ("one", "two"))
    assert episodes(two, 1) == episodes(one, 1)
    mine, theirs = (tiny_run.told_steps(run)[0] for run in (two, one))
    assert mine["action_tokens"] == theirs["action_tokens"]
    assert mine["learner"] == pytest.approx(theirs["learner"], rel=1e-3, abs=1e-6)
    for name, value in weights(one, 1).items():
        torch.testing.assert_close(weights(two, 1)[name], value, rtol=1e-5, atol=1e-7)


def test_a_job_under_deepspeeds_launcher_tells_the_same_story(
    folder: Path, whole: RunPaths
) -> None:
    command = jobs.deepspeed(2, "--module", "trainer", *train(folder, "launched", "total_steps=4"))
    jobs.run(command, folder=folder)
    launched = RunPaths(folder / "runs" / "launched")
    assert tiny_run.told_steps(launched) == tiny_run.told_steps(whole)[:4]


def test_death_of_a_rank_and_of_all_leaves_the_same_steps(folder: Path, whole: RunPaths) -> None:
    run = RunPaths(folder / "runs" / "killed")
    first = jobs.start(two_ranks(*train(folder, "killed")), folder=folder)
    jobs.wait_for(lambda: len(tiny_run.told_steps(run)) >= 4, first)
    os.kill(jobs.ranks_of(folder)[1], signal.SIGKILL)
    assert first.wait(jobs.LIMIT_S) != 0, "the others went on without a rank"
    jobs.wait_for(lambda: not tiny_run.alive(run.root))

    done = len(tiny_run.told_steps(run))
    assert 4 <= done < 14
    second = jobs.start(two_ranks(*resume(folder, "killed")), folder=folder)
    jobs.wait_for(lambda: len(tiny_run.told_steps(run)) >= min(done + 3, 13), second)
    for process in [second.pid, *jobs.ranks_of(folder).values()]:
        os.kill(process, signal.SIGKILL)
    second.wait(jobs.LIMIT_S)
    jobs.wait_for(lambda: not jobs.ranks_of(folder))

    jobs.run(two_ranks(*resume(folder, "killed")), folder=folder)
    assert tiny_run.told_steps(run) == tiny_run.told_steps(whole)
    assert not tiny_run.events(run, "resume_difference")
    assert tiny_run.status(run)["phase"] == "finished"


def test_all_ranks_change_to_an_edited_knob_at_the_same_step(folder: Path) -> None:
    run = RunPaths(folder / "runs" / "edited")
    job = jobs.start(two_ranks(*train(folder, "edited")), folder=folder)
    jobs.wait_for(lambda: len(tiny_run.told_steps(run)) >= 3, job)
    file = run.knob_file("agent")
    file.write_bytes(with_value(file.read_bytes(), "entropy_coeff", 0.012))
    assert job.wait(jobs.LIMIT_S) == 0
    seen = {record["step"]: record["revision"] for record in tiny_run.told_steps(run)}
    assert set(seen.values()) == {0, 1}
    for step, revision in seen.items():
        played = [one for one in episodes(run, step) if one["side"] != "anchor"]
        assert {one["revision"] for one in played} == {revision}


def test_any_process_evaluates_and_exports_what_many_ranks_trained(
    folder: Path, whole: RunPaths
) -> None:
    target = folder / "exported"
    arguments = ["export", "whole", str(target), "--runs", str(folder / "runs")]
    jobs.run([*jobs.python(), "-m", "trainer", *arguments], folder=folder)
    model = AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32)
    for name, value in weights(whole, 14).items():
        assert torch.equal(model.state_dict()[name], value)
