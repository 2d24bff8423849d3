"""A rank that follows writes through rank 0's servers, under rank 0's stamp, and tells what died.

Against small servers that speak the protocol and can be told to break it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.trainer.policy.bigram import VOCAB, Bigram, as_pretrained, update
from tests.trainer.policy.sglang_fake import Engine, FakeServer, Fault
from trainer.policy.sampler import Completion, Finish, SampleRequest, SamplerFault
from trainer.policy.sglang_config import LaunchConfig, SamplerConfig
from trainer.policy.sglang_following import FollowingSampler
from trainer.policy.sglang_group import WeightGroup, free_port
from trainer.policy.sglang_process import unlaunched
from trainer.policy.sglang_sampler import SglangSampler
from trainer.policy.sglang_serving import home

STOP = 3
CONFIG = SamplerConfig(
    kind="sglang", deadline_s=10.0, control_s=10.0, launch=LaunchConfig(ready_s=1.0)
)


class Crew:
    """Rank 0's sampler and its servers, and the sampler of rank 1."""

    def __init__(self, stack: ExitStack, servers: int, **settings: Any) -> None:
        self.model = Bigram()
        self.servers = [stack.enter_context(FakeServer(_engine())) for _ in range(servers)]
        config = replace(CONFIG, urls=tuple(one.url for one in self.servers), **settings)
        self.first = SglangSampler(
            as_pretrained(self.model), {STOP}, config, name="run", max_tokens=64
        )
        stack.callback(self.first.close)
        self.first.sync(0)
        self.second = FollowingSampler({STOP}, config, rank=1, max_tokens=64)
        stack.callback(self.second.close)
        self.second.take(self.first.serving())

    def learn(self) -> None:
        """Change the weights, and let rank 0 sync and hand on what it serves then."""
        update(self.model)
        self.first.sync(1)
        self.second.take(self.first.serving())


def _engine() -> Engine:
    return Engine(Bigram(seed=9).table.detach().numpy(), "default")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def ask(number: int, *, length: int = 5) -> SampleRequest:
    ids = [(number + 5 * place) % VOCAB for place in range(length)]
    return SampleRequest(f"000001-{number:02d}", ids, 8, 7 + number)


def sampled(sampler: FollowingSampler | SglangSampler) -> list[Completion]:
    return sampler.sample([ask(number) for number in range(6)], temperature=1.0)


def test_both_ranks_get_the_same_turns_from_the_same_servers(stack: ExitStack) -> None:
    crew = Crew(stack, 2)
    for one in crew.servers:
        one.engine.bodies.clear()
    assert sampled(crew.second) == sampled(crew.first)
    asked = [{tuple(body["input_ids"]) for body in one.engine.bodies} for one in crew.servers]
    assert all(asked) and not asked[0] & asked[1], "a dialogue has one server, whoever asks"
    names = [body["rid"] for one in crew.servers for body in one.engine.bodies]
    assert len(set(names)) == 12, "requests of two ranks are not taken for one another"


def test_a_dialogue_without_room_is_not_sent(stack: ExitStack) -> None:
    (full,) = Crew(stack, 1).second.sample([ask(1, length=64)], temperature=1.0)
    assert full == Completion((), (), Finish.LENGTH, 0)


def test_turns_in_flight_are_the_turns_of_a_batch(stack: ExitStack) -> None:
    crew = Crew(stack, 2)
    bell = threading.Event()
    asked = [ask(9, length=64), *(ask(number) for number in range(6))]
    crew.second.begin(asked, temperature=1.0, ring=bell.set)
    told: dict[str, Completion] = {}
    while len(told) < len(asked):
        assert bell.wait(20)
        bell.clear()
        told |= dict(crew.second.finished())
    assert next(iter(told)) == asked[0].dialogue, "one without room needs no server"
    assert told == {
        request.dialogue: one
        for request, one in zip(asked, crew.first.sample(asked, temperature=1.0), strict=True)
    }


def test_an_aborted_turn_comes_back_as_failed(stack: ExitStack) -> None:
    crew = Crew(stack, 1)
    crew.servers[0].engine.faults = {Fault.HANGS}
    bell = threading.Event()
    crew.second.begin([ask(1)], temperature=1.0, ring=bell.set)
    crew.second.abort([ask(1).dialogue])
    assert bell.wait(20)
    ((name, completion),) = crew.second.finished()
    assert name == ask(1).dialogue and completion.finish is Finish.FAILED


def test_what_it_samples_after_an_update_carries_the_version_that_rank_0_handed_on(
    stack: ExitStack,
) -> None:
    crew = Crew(stack, 1)
    crew.learn()
    crew.second.sync(1)
    assert {one.policy_version for one in sampled(crew.second)} == {1}
    assert sampled(crew.second) == sampled(crew.first)


def test_a_rank_that_missed_an_update_is_refused(stack: ExitStack) -> None:
    crew = Crew(stack, 1)
    with pytest.raises(SamplerFault, match="rank 1 has policy version 1, and the servers"):
        crew.second.sync(1)


def test_turns_of_another_stamp_are_no_turns(stack: ExitStack) -> None:
    crew = Crew(stack, 1)
    crew.servers[0].engine.stamp = "run-1"
    assert {one.finish for one in sampled(crew.second)} == {Finish.FAILED}
    assert crew.second.lost() == {}, "the server is there; what it says is of no use"


def test_it_gives_no_server_weights_and_stops_none(stack: ExitStack) -> None:
    crew = Crew(stack, 1)
    crew.servers[0].engine.calls.clear()
    crew.second.sync(0)
    sampled(crew.second)
    crew.second.release([ask(0).dialogue])
    crew.second.close()
    assert set(crew.servers[0].engine.calls) == {"/generate"}


def test_the_others_write_for_a_dead_server_and_rank_0_brings_it_back(stack: ExitStack) -> None:
    crew = Crew(stack, 2)
    calm = sampled(crew.second)
    dead = crew.servers[0]
    dead.die()
    assert sampled(crew.second) == calm
    assert list(crew.second.lost()) == [dead.url]
    crew.first.hear(crew.second.lost())
    assert crew.first.serving().urls == (crew.servers[1].url,)
    returned = stack.enter_context(FakeServer(_engine(), port=dead.port))
    crew.learn()
    assert torch.equal(torch.from_numpy(returned.engine.table), crew.model.table.detach())
    assert [one.kind for one in crew.first.incidents()] == ["engine_lost", "engine_restart"]
    assert crew.second.lost() == {}
    assert {one.policy_version for one in sampled(crew.second)} == {1}


def test_with_no_server_left_turns_fail_with_the_reason_and_at_once(stack: ExitStack) -> None:
    crew = Crew(stack, 1)
    crew.servers[0].die()
    for _ in range(2):
        for one in sampled(crew.second):
            assert one.finish is Finish.FAILED
            assert "rank 1 has no SGLang server left in this step" in str(one.error)
            assert crew.servers[0].url in str(one.error)


def test_a_server_that_hangs_costs_one_deadline(stack: ExitStack) -> None:
    crew = Crew(stack, 1, deadline_s=0.3)
    crew.servers[0].engine.faults = {Fault.HANGS}
    assert {one.finish for one in sampled(crew.second)} == {Finish.FAILED}
    assert crew.second.lost() == {}, "it is slow, and still says that it is well"


def test_a_server_that_answers_rank_0_stays_and_that_is_told(stack: ExitStack) -> None:
    crew = Crew(stack, 1)
    crew.first.hear({crew.servers[0].url: "rank 1: no route", "http://127.0.0.1:9": "rank 1: old"})
    (incident,) = crew.first.incidents()
    assert incident.kind == "engine_unreachable" and incident.detail["reason"] == "rank 1: no route"
    assert crew.first.serving().urls == (crew.servers[0].url,)


def test_a_dialogue_keeps_its_server_while_the_servers_are_the_same() -> None:
    names = [f"000001-{number:02d}" for number in range(64)]
    chosen = [home(name, "abc") for name in names]
    assert chosen == [home(name, "abc") for name in names]
    assert set(chosen) == set("abc")


def test_a_server_that_a_rank_starts_does_not_take_itself_for_a_rank() -> None:
    launched = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "x"}
    assert unlaunched(launched | {"LOCAL_SIZE": "2", "PATH": "/bin"}) == {"PATH": "/bin"}


def test_a_group_for_weights_is_no_business_of_the_launcher(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "TORCHELASTIC_USE_AGENT_STORE", "True")
    alone = WeightGroup(
        "w", host="127.0.0.1", port=free_port(), size=1, backend="gloo", timeout_s=5.0
    )
    alone.send([torch.ones(2)])
    alone.close()
