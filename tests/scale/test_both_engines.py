"""Two DeepSpeed ranks learn while one real SGLang server writes for both: no rank acts on its own.

ZeRO 3, so that no rank has the whole weights but in the copy that is served. SGLang 0.5.23 on the
CPU in float32, from `.venv-sglang`; minutes, most of them the starts of the server.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import tiny_run
from tests.live_run import with_value
from tests.scale import install_sglang, jobs
from trainer.episode import StopReason
from trainer.policy.sglang_agreement import BOUNDS

pytestmark = [
    pytest.mark.slow,
    jobs.needs_deepspeed,
    pytest.mark.skipif(
        not install_sglang.PYTHON.exists(), reason="`make sglang` installs the server"
    ),
]

RECIPE = """
extends: sglang-cpu
name: both
total_steps: 9
backend: deepspeed
deepspeed: {zero_stage: 3, bucket_elements: 100000}
rollout: {dialogues_per_step: 12, group_size: 2, max_new_tokens: 12, context_tokens: 400}
"""
"""Six groups: each rank plays three of them."""
RANKS = 2
EDITED_AFTER, KILLED_AFTER = 2, 5
"""Steps after which a knob is edited, and the server killed."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a folder with the recipe, starting knobs and a place for weights."""
    place = tmp_path_factory.mktemp("both")
    tiny = tiny_run.write_recipe(place).read_text("utf-8").splitlines(keepends=True)
    named = ("name:", "total_steps:", "rollout:")
    shared = "".join(line for line in tiny if not line.startswith(named))
    (place / "both.yaml").write_text(RECIPE + shared, "utf-8")
    yield place
    jobs.wait_for(lambda: not tiny_run.alive(exchange(place)))


def exchange(folder: Path) -> Path:
    """Return the folder that servers have on their command line."""
    return folder / "exchange"


def train(folder: Path, name: str) -> list[str]:
    """Return a job of two ranks that trains a run."""
    sets = (
        f"sampler.launch.python={install_sglang.PYTHON}",
        f"sampler.exchange={exchange(folder)}",
    )
    told = [argument for one in sets for argument in ("--set", one)]
    return jobs.torchrun(
        RANKS, "-m", "trainer", "train", folder / "both.yaml", "--run-id", name,
        "--runs", folder / "runs", "--starting-knobs", folder / "knobs", *told,
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(folder: Path) -> RunPaths:
    """Train a run in which a knob is edited, and the server killed in the middle of a rollout."""
    paths = RunPaths(folder / "runs" / "one")
    job = jobs.start(train(folder, "one"), folder=folder)
    jobs.wait_for(lambda: steps_done(paths) >= EDITED_AFTER, job)
    file = paths.knob_file("agent")
    file.write_bytes(with_value(file.read_bytes(), "entropy_coeff", 0.012))
    jobs.wait_for(lambda: steps_done(paths) >= KILLED_AFTER, job)
    threading.Timer(0.4, kill_servers, (folder,)).start()
    assert job.wait(jobs.LIMIT_S) == 0, (folder / "jobs.log").read_text("utf-8")[-6000:]
    return paths


def test_both_ranks_play_each_step_under_the_same_revision(run: RunPaths) -> None:
    seen: list[int] = []
    for step in steps(run):
        shares = by_rank(run, step["step"])
        revisions = [{one["revision"] for one in share} for share in shares]
        assert revisions == [{step["revision"]}] * RANKS
        seen.append(step["revision"])
    assert seen == sorted(seen) and set(seen) == {0, 1}


def test_every_episode_of_every_rank_was_written_by_the_weights_in_force(run: RunPaths) -> None:
    for step in steps(run):
        for share in by_rank(run, step["step"]):
            assert {one["policy_version"] for one in share} == {step["policy_version"]}
    digests = [step["params_digest"] for step in steps(run)]
    assert len(set(digests)) == len(digests), "every step moved the policy"


def test_what_is_served_agrees_with_the_learner_after_every_sync(run: RunPaths) -> None:
    bound = BOUNDS[torch.float32]
    for step in steps(run):
        assert step["learner"]["sampler_logprob_gap_mean"] <= bound.mean
        assert step["learner"]["sampler_logprob_gap_max"] <= bound.most
    told = tiny_run.status(run)["health"]["sampler"]
    assert told["logprob_gap_max"] <= bound.most
    assert told["servers"][0]["restarts"] == 1 and told["servers"][0]["up"]


def test_a_server_killed_in_a_rollout_costs_that_step_at_most(run: RunPaths) -> None:
    assert [step["step"] for step in steps(run)] == list(range(1, 10))
    kinds = [event["kind"] for event in tiny_run.events(run)]
    assert kinds.count("engine_lost") == kinds.count("engine_restart") == 1
    hurt = {step["step"] for step in steps(run) if step["quarantined"]}
    assert hurt <= {KILLED_AFTER + 1}
    for step in hurt:
        first, second = by_rank(run, step)
        assert not any(spoilt(one) for one in first), "rank 0 brings the server back and goes on"
        assert {one["stop"] for one in second if spoilt(one)} == {StopReason.SAMPLER_ERROR}
    assert tiny_run.status(run)["phase"] == "finished"


def test_a_rank_killed_ends_the_job_with_its_server_and_the_run_goes_on(folder: Path) -> None:
    paths = RunPaths(folder / "runs" / "two")
    job = jobs.start(train(folder, "two"), folder=folder)
    jobs.wait_for(lambda: steps_done(paths) >= 4, job)
    os.kill(jobs.ranks_of(folder)[1], signal.SIGKILL)
    assert job.wait(jobs.LIMIT_S) != 0, "the other went on without a rank"
    jobs.wait_for(lambda: not tiny_run.alive(exchange(folder)))

    resume = ("-m", "trainer", "resume", "two", "--runs", folder / "runs")
    jobs.run(jobs.torchrun(RANKS, *resume), folder=folder)
    assert tiny_run.status(paths)["phase"] == "finished"
    done = steps(paths)
    assert [step["step"] for step in done] == list(range(1, 10))
    assert all(one["policy_version"] < two["policy_version"] for one, two in pairwise(done))
    for step in done:
        for share in by_rank(paths, step["step"]):
            assert {one["policy_version"] for one in share} == {step["policy_version"]}


def steps(run: RunPaths) -> list[dict[str, Any]]:
    """Return the records of a run's steps."""
    return [dict(one) for one in files.read_lines(run.steps).records]


def steps_done(run: RunPaths) -> int:
    """Return how many steps are on file."""
    return len(steps(run)) if run.steps.exists() else 0


def by_rank(run: RunPaths, step: int) -> list[list[Mapping[str, Any]]]:
    """Return the episodes of a step that are no anchors, by the rank that played them."""
    played = list(files.read_lines(run.episodes_of(step)).records)
    groups = list(dict.fromkeys(one["group"] for one in played))
    usual = [one for one in played if one["side"] != "anchor"]
    return [[one for one in usual if one["group"] in groups[rank::RANKS]] for rank in range(RANKS)]


def spoilt(episode: Mapping[str, Any]) -> bool:
    """True for an episode that was quarantined."""
    return StopReason(episode["stop"]).outcome == "quarantined"


def kill_servers(folder: Path) -> None:
    """Kill the main process of every server of a folder."""
    for pid in tiny_run.alive(exchange(folder)):
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if command[1:3] == [b"-m", b"sglang.launch_server"]:
            os.kill(pid, signal.SIGKILL)
