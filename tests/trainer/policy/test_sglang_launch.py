"""Servers of the run's own: how they are started, brought back when they die, and surely ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests import tiny_run
from tests.trainer.policy.bigram import VOCAB, Bigram, as_pretrained, update
from trainer.policy.sampler import Finish, SampleRequest
from trainer.policy.sglang_config import LaunchConfig, SamplerConfig
from trainer.policy.sglang_fleet import SamplerLost
from trainer.policy.sglang_process import server_command
from trainer.policy.sglang_sampler import SglangSampler

CHECKOUT = Path(__file__).resolve().parents[3]
PATHS = os.pathsep.join((str(Path(__file__).parent / "launched"), str(CHECKOUT)))
LAUNCH = LaunchConfig(python=sys.executable, environment={"PYTHONPATH": PATHS}, ready_s=60.0)


@pytest.fixture
def model() -> Bigram:
    return Bigram()


@pytest.fixture
def config(tmp_path: Path) -> Iterator[SamplerConfig]:
    """A recipe section whose servers have `tmp_path` on their command line; none may be left."""
    yield SamplerConfig(kind="sglang", launch=LAUNCH, exchange=str(tmp_path), deadline_s=30.0)
    deadline = time.monotonic() + 10
    while tiny_run.alive(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert tiny_run.alive(tmp_path) == []


def make(model: Bigram, config: SamplerConfig) -> SglangSampler:
    return SglangSampler(as_pretrained(model), {3}, config, name="run", max_tokens=128)


REQUESTS = [
    SampleRequest(f"d{number}", [(number + place) % VOCAB for place in range(4)], 40, number)
    for number in range(4)
]


def test_a_server_killed_in_a_turn_costs_no_turn(
    model: Bigram, config: SamplerConfig, tmp_path: Path
) -> None:
    slow = replace(LAUNCH, options={"token-s": 0.03})
    sampler = make(model, replace(config, launch=slow))
    try:
        sampler.sync(0)
        calm = sampler.sample(REQUESTS, temperature=1.0)
        servers = [pid for pid in tiny_run.alive(tmp_path) if _is_server(pid)]
        assert len(servers) == 1
        killer = threading.Timer(0.2, os.kill, (servers[0], signal.SIGKILL))
        killer.start()
        struck = sampler.sample(REQUESTS, temperature=1.0)
        killer.join()
        assert [one.ids for one in struck] == [one.ids for one in calm]
        assert [one.kind for one in sampler.incidents()] == ["engine_lost", "engine_restart"]
        assert sampler.health()["servers"][0]["restarts"] == 1
        update(model)
        sampler.sync(1)
        assert {one.policy_version for one in sampler.sample(REQUESTS, temperature=1.0)} == {1}
    finally:
        sampler.close()


def test_a_server_that_ends_at_its_start_is_told_with_its_log(
    model: Bigram, config: SamplerConfig
) -> None:
    wrong = replace(LAUNCH, options={"no-such-option": True})
    sampler = make(model, replace(config, launch=wrong))
    with pytest.raises(SamplerLost, match="unrecognized arguments: --no-such-option"):
        sampler.sync(0)
    sampler.close()


def test_servers_that_only_die_are_started_so_often_and_no_more(
    model: Bigram, config: SamplerConfig, tmp_path: Path
) -> None:
    sampler = make(model, replace(config, launch=replace(LAUNCH, restarts=0)))
    sampler.sync(0)
    for pid in filter(_is_server, tiny_run.alive(tmp_path)):
        os.kill(pid, signal.SIGKILL)
    (completion, *_) = sampler.sample(REQUESTS, temperature=1.0)
    assert completion.finish is Finish.FAILED
    assert "started 0 times again and wrote no turn" in str(completion.error)
    assert "serving" in str(completion.error), "the log is quoted"
    sampler.close()


def test_options_become_flags_and_what_is_the_runs_to_set_stays() -> None:
    config = LaunchConfig(
        python="py",
        options={"device": "cpu", "sleep-on-idle": True, "tp-size": 2, "dtype": None, "port": 1},
    )
    command = server_command(config, model_path=Path("/m"), port=7, stamp="run-0")
    assert command[:3] == ["py", "-m", "sglang.launch_server"]
    assert command[3:8] == ["--device", "cpu", "--sleep-on-idle", "--tp-size", "2"]
    assert command[command.index("--port") + 1] == "7" and "--dtype" not in command


def _is_server(pid: int) -> bool:
    """True for the server itself, not for the leash and the shell above it."""
    return b"\0-m\0sglang.launch_server" in b"\0" + Path(f"/proc/{pid}/cmdline").read_bytes()[:200]
