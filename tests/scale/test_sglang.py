"""A real SGLang server writes the turns: it trains, agrees, and is found out when it does not.

SGLang 0.5.23 on the CPU in float32, from `.venv-sglang`; about three minutes on two free cores.
"""

from __future__ import annotations

import copy
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console
from transformers import PreTrainedModel

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import tiny_run
from tests.scale import install_sglang
from trainer import launch, recipe_file, session
from trainer.episode import StopReason
from trainer.loop import Ending, Run
from trainer.policy.build import small_qwen3
from trainer.policy.sampler import Completion, Finish, SampleRequest
from trainer.policy.sglang_agreement import BOUNDS, learner_logprobs
from trainer.policy.sglang_client import ServerClient
from trainer.policy.sglang_config import SamplerConfig
from trainer.policy.sglang_sampler import SglangSampler
from trainer.policy.sglang_turns import Sent, Wanted, Written, write_turns
from trainer.policy.sglang_weights import DistributedWay, TensorWay, WeightWay
from trainer.policy.turns import open_turns
from trainer.ppo.learner import LearnConfig, LearnSettings
from trainer.ppo.torch_learner import TorchLearner
from trainer.trajectory import Trajectory

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not install_sglang.PYTHON.exists(), reason="`make sglang` installs the server"
    ),
]

VOCAB = 512
UPDATES = 14


def requests(count: int) -> list[SampleRequest]:
    """Return turns to be written, each after a prompt of its own."""
    return [
        SampleRequest(
            f"d{number}", [(7 * place + number) % VOCAB for place in range(40)], 24, number
        )
        for number in range(count)
    ]


REQUESTS = requests(8)


def section(**settings: object) -> SamplerConfig:
    """Return the section of the built-in recipe, its interpreter by an absolute path."""
    usual = recipe_file.load("sglang-cpu").sampler
    found = replace(usual.launch, python=str(install_sglang.PYTHON))
    return replace(usual, launch=found, **settings)  # pyright: ignore[reportArgumentType]


class LosingWay:
    """A way on which weights are lost, or those of the version before arrive."""

    def __init__(self, old: PreTrainedModel | None) -> None:
        self._old = old
        self._way = TensorWay()

    def send(self, client: ServerClient, model: PreTrainedModel, stamp: str) -> None:
        """Send what is old under the new version; nothing where there is nothing old."""
        if self._old is not None:
            self._way.send(client, self._old, stamp)

    def forget(self, client: ServerClient) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Hold nothing."""


class Served:
    """A learner's model and its one real server, whose way of taking weights may be changed."""

    def __init__(self, folder: Path) -> None:
        self.model = small_qwen3(VOCAB, seed=1)
        self.way: WeightWay = TensorWay()
        self.version = 0
        config = section(exchange=str(folder))
        self.sampler = SglangSampler(self.model, {3}, config, name="test", max_tokens=512, way=self)
        self.sampler.sync(0)

    def send(self, client: ServerClient, model: PreTrainedModel, stamp: str) -> None:
        """Send by the way of the moment."""
        self.way.send(client, model, stamp)

    def forget(self, client: ServerClient) -> None:
        """Pass it on."""
        self.way.forget(client)

    def close(self) -> None:
        """Pass it on."""
        self.way.close()

    @torch.no_grad()
    def update(self, way: WeightWay) -> float:
        """Change all weights, sync by a way, and return the largest gap on fresh turns."""
        self.way = way
        self.version += 1
        made = torch.Generator().manual_seed(self.version)
        for parameter in self.model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=made) * 0.01)
        self.sampler.sync(self.version)
        return self.gap()

    def gap(self, temperature: float = 1.0) -> float:
        """Return the largest difference of log-probabilities over eight turns."""
        turns = self.sampler.sample(REQUESTS, temperature=temperature)
        assert {turn.policy_version for turn in turns} == {self.version}
        assert all(turn.error is None for turn in turns)
        return max(
            float((self._ours(request, turn.ids, temperature) - torch.tensor(turn.logprobs))
                  .abs().max())
            for request, turn in zip(REQUESTS, turns, strict=True)
        )  # fmt: skip

    def _ours(
        self, request: SampleRequest, ids: tuple[int, ...], temperature: float
    ) -> torch.Tensor:
        return learner_logprobs(self.model, request.ids, ids, temperature=temperature)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("exchange")
    one = Served(folder)
    yield one
    one.sampler.close()
    assert _gone(folder)


def test_its_log_probabilities_are_the_learners_at_any_temperature(served: Served) -> None:
    bound = BOUNDS[torch.float32]
    for temperature in (1.0, 0.7):
        assert served.gap(temperature) <= bound.most


@pytest.mark.parametrize("name", ["tensor", "distributed"])
def test_after_each_sync_it_agrees_again(served: Served, name: str) -> None:
    way = TensorWay() if name == "tensor" else DistributedWay(timeout_s=60.0)
    try:
        for _ in range(2):
            assert served.update(way) <= BOUNDS[torch.float32].most
        assert served.sampler.incidents() == [], "no second way was needed"
        print(name, served.sampler.health())
    finally:
        way.close()


@pytest.mark.parametrize("loss", ["lost", "of the version before"])
def test_weights_that_do_not_arrive_are_noticed_in_the_same_sync(served: Served, loss: str) -> None:
    old = None if loss == "lost" else copy.deepcopy(served.model)
    gap = served.update(LosingWay(old))
    (incident,) = served.sampler.incidents()
    assert incident.kind == "weights_resent"
    said = "instead of" if loss == "lost" else "its weights are those of the version before"
    assert said in incident.detail["reason"]
    assert gap <= BOUNDS[torch.float32].most, "as files they arrived"


def test_a_turn_past_its_deadline_is_aborted_there(served: Served) -> None:
    (server,) = served.sampler.health()["servers"]
    turns = open_turns([SampleRequest("slow", REQUESTS[0].ids, 450, 0)], max_tokens=512)
    hurried = Wanted(server["weights"], served.version, 1.0, False, (), deadline_s=0.3)
    (written,) = write_turns([Sent(turns[0], server["url"], "slow")], hurried)
    assert isinstance(written, Written) and written.completion.finish is Finish.FAILED
    time.sleep(0.5)
    client = ServerClient(server["url"], timeout_s=30.0)
    client.flush()  # refused while anything is still being written
    client.close()


def test_what_it_samples_teaches_the_policy(served: Served) -> None:
    served.way = TensorWay()
    config = LearnConfig(credit="grpo", minibatch_dialogues=16)
    learner = TorchLearner(served.model, config, seed=0)
    asked = requests(32)
    rewards: list[float] = []
    for _ in range(UPDATES):
        served.version += 1
        served.sampler.sync(served.version)
        turns = served.sampler.sample(asked, temperature=1.0)
        # Paid is the share of tokens from the lower half of the vocabulary.
        paid = [sum(token < VOCAB // 2 for token in turn.ids) / len(turn.ids) for turn in turns]
        rewards.append(sum(paid) / len(paid))
        stats = learner.step(
            [_trajectory(*one) for one in zip(asked, turns, paid, strict=True)],
            LearnSettings(actor_lr=1e-2, critic_lr=1e-3, ppo_epochs=2),
        )
        gap = stats.metrics["sampler_logprob_gap_max"]
        assert gap <= BOUNDS[torch.float32].most
    print("rewards", [round(reward, 3) for reward in rewards])
    assert sum(rewards[:2]) / 2 < 0.65 and sum(rewards[-2:]) / 2 > 0.85


def test_a_run_trains_through_it_and_loses_no_episode_to_its_death(tmp_path: Path) -> None:
    recipe = tiny_run.write_recipe(tmp_path)
    exchange = tmp_path / "exchange"
    config = recipe_file.load(str(recipe), ["total_steps=4", "checkpoint.every=4"])
    config = replace(config, sampler=section(exchange=str(exchange)))
    planned = launch.plan(config, runs=tmp_path / "runs", knob_dir=tmp_path / "knobs", run_id="run")
    killed: list[int] = []

    def adjust(run: Run) -> None:
        def watch(record: object, status: object) -> None:
            if not killed:
                killed.extend(_servers(exchange))
                # In the middle of the next step's rollout.
                threading.Timer(0.5, _kill, (list(killed),)).start()

        run.watcher = watch

    assert session.start(planned, Console(quiet=True), adjust=adjust) is Ending.FINISHED
    paths = RunPaths(tmp_path / "runs" / "run")
    steps = files.read_lines(paths.steps).records
    assert [step["step"] for step in steps] == [1, 2, 3, 4]
    assert len({step["params_digest"] for step in steps}) == 4, "every step moved the policy"
    assert [step["quarantined"] for step in steps] == [0, 0, 0, 0]
    for step in steps:
        assert step["learner"]["sampler_logprob_gap_max"] <= BOUNDS[torch.float32].most
        told = files.read_lines(paths.episodes_of(step["step"])).records
        assert {episode["policy_version"] for episode in told} == {step["step"] - 1}
    kinds = [event["kind"] for event in tiny_run.events(paths)]
    assert kinds.count("engine_lost") == kinds.count("engine_restart") == 1
    health = tiny_run.status(paths)["health"]["sampler"]
    assert health["servers"][0]["restarts"] == 1 and health["servers"][0]["up"]
    assert health["logprob_gap_max"] <= BOUNDS[torch.float32].most
    assert _gone(exchange)


def _trajectory(request: SampleRequest, turn: Completion, paid: float) -> Trajectory:
    """Return one turn as a dialogue of its own, all of one group."""
    before, written = len(request.ids), len(turn.ids)
    return Trajectory(
        ids=(*request.ids, *turn.ids),
        action_mask=(False,) * before + (True,) * written,
        turn_ids=(-1,) * before + (0,) * written,
        segment_ids=(-1,) * before + (0,) * written,
        rollout_logprobs=(0.0,) * before + turn.logprobs,
        rewards=(0.0,) * (before + written - 1) + (paid,),
        stop=StopReason.SOLVED,
        episode_id=request.dialogue,
        task_id="task",
        group_id="group",
        arm="symbolic",
        revision=0,
        policy_version=turn.policy_version,
    )


def _servers(folder: Path) -> list[int]:
    """Return the main processes of servers with a folder on their command line."""
    return [
        pid
        for pid in tiny_run.alive(folder)
        if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:3]
        == [b"-m", b"sglang.launch_server"]
    ]


def _kill(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def _gone(folder: Path) -> bool:
    """True once no server of a folder is left."""
    deadline = time.monotonic() + 20
    while tiny_run.alive(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not tiny_run.alive(folder)
