"""The SGLang sampler takes tokens of the learner's weights alone and loses no turn in vain.

Against a small server that speaks the protocol and can be told to break it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.trainer.policy.bigram import VOCAB, Bigram, as_pretrained, update
from tests.trainer.policy.sglang_fake import Engine, FakeServer, Fault
from trainer.policy.sampler import Completion, Finish, SampleRequest, SamplerFault
from trainer.policy.sglang_agreement import SamplerDisagrees, learner_logprobs
from trainer.policy.sglang_config import LaunchConfig, SamplerConfig
from trainer.policy.sglang_fleet import SamplerLost
from trainer.policy.sglang_sampler import SglangSampler

STOP = 3
CONFIG = SamplerConfig(
    kind="sglang", deadline_s=10.0, control_s=10.0, launch=LaunchConfig(ready_s=1.0)
)


class Stage:
    """A learner's model, servers that began with other weights, and samplers to try."""

    def __init__(self, stack: ExitStack) -> None:
        self.model = Bigram()
        self._stack = stack

    def server(self, engine: Engine | None = None, *, port: int = 0) -> FakeServer:
        """Start a server that has never seen the learner."""
        engine = engine or Engine(Bigram(seed=9).table.detach().numpy(), "default")
        return self._stack.enter_context(FakeServer(engine, port=port))

    def sampler(self, *servers: FakeServer, **settings: Any) -> SglangSampler:
        """Return a sampler that has joined them and is at version 0."""
        config = replace(CONFIG, urls=tuple(one.url for one in servers), **settings)
        sampler = SglangSampler(
            as_pretrained(self.model), {STOP}, config, name="run", max_tokens=64
        )
        self._stack.callback(sampler.close)
        sampler.sync(0)
        return sampler


@pytest.fixture
def stage() -> Iterator[Stage]:
    with ExitStack() as stack:
        yield Stage(stack)


def ask(number: int, *, tokens: int = 8, length: int = 5, seed: int = 7) -> SampleRequest:
    ids = [(number + 5 * place) % VOCAB for place in range(length)]
    return SampleRequest(f"000001-{number:02d}", ids, tokens, seed + number)


def sampled(sampler: SglangSampler, count: int = 6) -> list[Completion]:
    return sampler.sample([ask(number) for number in range(count)], temperature=1.0)


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_tokens_come_back_with_the_learners_own_log_probabilities(
    stage: Stage, temperature: float
) -> None:
    sampler = stage.sampler(stage.server())
    requests = [ask(number) for number in range(6)]
    completions = sampler.sample(requests, temperature=temperature)
    for request, completion in zip(requests, completions, strict=True):
        ours = learner_logprobs(
            as_pretrained(stage.model), request.ids, completion.ids, temperature=temperature
        )
        assert torch.allclose(ours, torch.tensor(completion.logprobs), atol=1e-5)
        ended = completion.ids[-1] == STOP or len(completion.ids) == 8
        assert ended and completion.policy_version == 0


def test_the_whole_dialogue_goes_out_as_ids_with_its_own_seed(stage: Stage) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    server.engine.bodies.clear()
    sampler.sample([ask(4, tokens=3)], temperature=0.5)
    (body,) = server.engine.bodies
    assert body["input_ids"] == ask(4).ids and "text" not in body
    assert body["return_logprob"] is True
    sampling = body["sampling_params"]
    assert sampling["sampling_seed"] == 11 and sampling["max_new_tokens"] == 3
    assert (sampling["temperature"], sampling["top_p"], sampling["top_k"]) == (0.5, 1.0, -1)
    assert sampling["stop_token_ids"] == [STOP] and sampling["no_stop_trim"] is True


def test_a_dialogue_without_room_is_not_sent_and_one_with_little_gets_little(
    stage: Stage,
) -> None:
    sampler = stage.sampler(stage.server())
    full, nearly = sampler.sample([ask(1, length=64), ask(2, length=63)], temperature=1.0)
    assert full == Completion((), (), Finish.LENGTH, 0)
    assert len(nearly.ids) == 1


def test_a_dialogue_stays_with_its_server_which_reads_its_new_tokens_alone(stage: Stage) -> None:
    servers = [stage.server(), stage.server()]
    sampler = stage.sampler(*servers)
    for server in servers:
        server.engine.bodies.clear()
    first = sampled(sampler)
    again = [
        replace(ask(number), ids=[*ask(number).ids, *one.ids, 1])
        for number, one in enumerate(first)
    ]
    sampler.sample(again, temperature=1.0)
    asked = [[tuple(body["input_ids"][:5]) for body in s.engine.bodies] for s in servers]
    assert all(asked) and not set(asked[0]) & set(asked[1])


def test_a_sync_pauses_gives_weights_flushes_and_goes_on(stage: Stage) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    sampled(sampler)
    server.engine.calls.clear()
    update(stage.model)
    sampler.sync(1)
    order = [call.removeprefix("/") for call in server.engine.calls if "info" not in call]
    assert order[:6] == [
        "pause_generation",
        "begin_weight_update",
        "update_weights_from_tensor",
        "end_weight_update",
        "flush_cache",
        "continue_generation",
    ]
    assert server.engine.stamp == "run-1"
    assert {one.policy_version for one in sampled(sampler)} == {1}
    assert sampler.health()["logprob_gap_max"] < 1e-5
    assert sampler.incidents() == []


@pytest.mark.parametrize("weights", ["tensor", "disk"])
def test_weights_arrive_by_either_way(stage: Stage, weights: str) -> None:
    server = stage.server()
    sampler = stage.sampler(server, weights=weights)
    update(stage.model)
    sampler.sync(1)
    assert torch.equal(torch.from_numpy(server.engine.table), stage.model.table.detach())


def test_no_token_is_sampled_between_an_update_and_its_sync(stage: Stage) -> None:
    sampler = stage.sampler(stage.server())
    update(stage.model)
    with pytest.raises(RuntimeError, match="call sync"):
        sampled(sampler)


def test_weights_that_were_lost_on_their_way_are_given_again_as_files(stage: Stage) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    server.engine.faults = {Fault.DROPS_TENSORS}
    update(stage.model)
    sampler.sync(1)
    (incident,) = sampler.incidents()
    assert incident.kind == "weights_resent"
    assert "serves weight version run-0 instead of run-1" in incident.detail["reason"]
    assert torch.equal(torch.from_numpy(server.engine.table), stage.model.table.detach())
    assert sampler.incidents() == []


DISAGREEMENTS = {
    Fault.DROPS_WEIGHTS: "serves weight version run-0 instead of run-1",
    Fault.STAMPS_ONLY: "its weights are those of the version before",
    Fault.KEEPS_CACHE: "keys and values of older weights survived",
    Fault.REFUSES_FLUSH: "requests are running",
    Fault.BENDS_LOGPROBS: "differ from the learner's by 0.3",
    Fault.GARBAGE: "cannot be read",
}


@pytest.mark.parametrize("fault", DISAGREEMENTS)
def test_a_server_that_does_not_serve_the_learners_weights_stops_the_run_at_that_sync(
    stage: Stage, fault: Fault
) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    sampled(sampler)
    update(stage.model)
    server.engine.faults = {fault}
    with pytest.raises(SamplerDisagrees, match=DISAGREEMENTS[fault]):
        sampler.sync(1)
    with pytest.raises(RuntimeError, match="call sync"):
        sampled(sampler)


def test_a_dropped_update_too_small_for_log_probabilities_is_noticed_all_the_same(
    stage: Stage,
) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    with torch.no_grad():
        # One element in a hundred, next to nothing in any probability.
        stage.model.table[0, 0] *= 1.01
    server.engine.faults = {Fault.STAMPS_ONLY}
    with pytest.raises(SamplerDisagrees, match="the version before"):
        sampler.sync(1)


def test_a_turn_past_its_deadline_is_aborted_and_fails_alone(stage: Stage) -> None:
    server = stage.server()
    sampler = stage.sampler(server, deadline_s=1.0)
    server.engine.faults = {Fault.HANGS}
    (completion,) = sampler.sample([ask(1)], temperature=1.0)
    assert completion.finish is Finish.FAILED and "within 1 s" in str(completion.error)
    assert "/abort_request" in server.engine.calls
    server.engine.faults = set()
    assert sampled(sampler)[1].finish is not Finish.FAILED


def test_an_answer_that_cannot_be_read_fails_its_turn(stage: Stage) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    server.engine.faults = {Fault.GARBAGE}
    assert {one.finish for one in sampled(sampler)} == {Finish.FAILED}


def test_tokens_of_weights_that_are_not_this_runs_are_no_turn(stage: Stage) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    server.engine.stamp = "other-0"
    (completion,) = sampler.sample([ask(1)], temperature=1.0)
    assert completion.finish is Finish.FAILED
    assert "weight version other-0 instead of run-0" in str(completion.error)


def test_when_one_of_two_servers_dies_the_other_writes_all_turns(stage: Stage) -> None:
    servers = [stage.server(), stage.server()]
    sampler = stage.sampler(*servers)
    before = sampled(sampler)
    servers[0].engine.faults = {Fault.BREAKS_OFF}
    assert [one.ids for one in sampled(sampler)] == [one.ids for one in before]
    assert [server["up"] for server in sampler.health()["servers"]] == [False, True]
    assert [incident.kind for incident in sampler.incidents()] == ["engine_lost"]
    update(stage.model)
    sampler.sync(1)
    assert {one.finish for one in sampled(sampler)} <= {Finish.STOP, Finish.LENGTH}


def test_a_joined_server_that_comes_back_is_given_the_weights_in_force(stage: Stage) -> None:
    servers = [stage.server(), stage.server()]
    sampler = stage.sampler(*servers)
    servers[0].die()
    sampled(sampler)
    returned = stage.server(port=servers[0].port)
    update(stage.model)
    sampler.sync(1)
    assert torch.equal(torch.from_numpy(returned.engine.table), stage.model.table.detach())
    assert [server["up"] for server in sampler.health()["servers"]] == [True, True]
    assert [incident.kind for incident in sampler.incidents()] == ["engine_lost", "engine_restart"]


def test_with_no_server_left_turns_fail_with_the_reason_and_the_next_sync_stops_the_run(
    stage: Stage,
) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    server.die()
    (completion,) = sampler.sample([ask(1)], temperature=1.0)
    assert completion.finish is Finish.FAILED and "not healthy" in str(completion.error)
    update(stage.model)
    with pytest.raises(SamplerLost, match="no SGLang server is left"):
        sampler.sync(1)


def test_a_router_is_refused_with_the_servers_behind_it(stage: Stage) -> None:
    router = stage.server()
    router.engine.behind = ["http://10.0.0.4:30000", "http://10.0.0.5:30000"]
    with pytest.raises(SamplerFault, match=r"a router answers .* http://10\.0\.0\.4:30000, "):
        stage.sampler(router)
    assert "/pause_generation" not in router.engine.calls, "nothing was given to it"


def test_servers_that_were_joined_are_left_running(stage: Stage) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    sampler.close()
    other = SglangSampler(
        as_pretrained(stage.model),
        {STOP},
        replace(CONFIG, urls=(server.url,)),
        name="next",
        max_tokens=64,
    )
    other.sync(0)
    assert server.engine.stamp == "next-0"
    other.close()
