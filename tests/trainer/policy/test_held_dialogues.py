"""A dialogue that is held gets the words of the old weights, whenever the learner learns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
import torch
from transformers import PreTrainedModel

from tests.trainer.policy.bigram import Bigram, as_pretrained, update
from tests.trainer.policy.sglang_fake import Engine, FakeServer
from trainer.policy.in_force import WeightsInForce
from trainer.policy.local import LocalSampler
from trainer.policy.sampler import Completion, Finish, HoldsWeights, SampleRequest
from trainer.policy.sglang_config import LaunchConfig, SamplerConfig
from trainer.policy.sglang_fleet import SamplerLost
from trainer.policy.sglang_sampler import SglangSampler

KEYS = [f"000002-{number:02d}" for number in range(6)]
TURNS = 4


def local(model: PreTrainedModel, *, own_weights: bool = True) -> LocalSampler:
    return LocalSampler(model, {2}, max_dialogues=8, max_tokens=200, own_weights=own_weights)


def play(
    sampler: LocalSampler, keys: Sequence[str] = KEYS, *, between: Callable[[], None] | None = None
) -> list[Completion]:
    """Play dialogues side by side and return all turns."""
    ids = {key: [50 + number, 51, 52] for number, key in enumerate(keys)}
    written: list[Completion] = []
    for turn in range(TURNS):
        if between is not None:
            between()
        asked = [
            SampleRequest(key, ids[key], 8, 10 * number + turn) for number, key in enumerate(keys)
        ]
        for key, one in zip(keys, sampler.sample(asked, temperature=1.0), strict=True):
            written.append(one)
            ids[key] += [*one.ids, 60 + turn]
    return written


def learn(model: PreTrainedModel) -> None:
    """Take a step that nobody could overlook."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model(input_ids=torch.tensor([[50, 51, 52, 53]])).logits.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


@contextmanager
def learning(model: PreTrainedModel) -> Iterator[None]:
    """Let another thread learn for the length of the block, again and again."""
    over, learnt = threading.Event(), threading.Event()

    def work() -> None:
        while not over.is_set():
            learn(model)
            learnt.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert learnt.wait(30.0)
        yield
    finally:
        over.set()
        thread.join()


def test_words_are_those_of_the_old_weights_however_the_update_is_timed(
    own_model: PreTrainedModel,
) -> None:
    expected = play(local(own_model))
    before = local(own_model)
    meanwhile = local(own_model)
    beside = local(own_model)
    for sampler in (before, meanwhile, beside):
        sampler.hold(KEYS)
    learn(own_model)
    assert play(before) == expected
    assert play(meanwhile, between=lambda: learn(own_model)) == expected
    with learning(own_model):
        assert play(beside) == expected
    assert play(local(own_model)) != expected, "the learner has moved, and can be heard"


def test_after_a_sync_the_words_are_those_of_the_learner(own_model: PreTrainedModel) -> None:
    sampler = local(own_model)
    sampler.hold(KEYS)
    learn(own_model)
    play(sampler)
    sampler.sync(1)
    found = play(sampler)
    assert found == [
        Completion(one.ids, one.logprobs, one.finish, 1) for one in play(local(own_model))
    ]


def test_a_copy_costs_nothing_in_exactness(own_model: PreTrainedModel) -> None:
    assert play(local(own_model)) == play(local(own_model, own_weights=False))


def test_who_was_not_named_may_not_speak_once_the_learner_has_moved(
    own_model: PreTrainedModel,
) -> None:
    sampler = local(own_model)
    sampler.hold(KEYS[:3])
    learn(own_model)
    play(sampler, KEYS[:3])
    with pytest.raises(RuntimeError, match="call sync"):
        play(sampler, KEYS)
    sampler.sync(1)
    learn(own_model)
    with pytest.raises(RuntimeError, match="call sync"):
        play(sampler, KEYS[:3])


def test_nobody_can_be_held_under_weights_that_are_gone(own_model: PreTrainedModel) -> None:
    sampler = local(own_model)
    learn(own_model)
    with pytest.raises(RuntimeError, match="call sync"):
        sampler.hold(KEYS)


def test_a_sampler_of_the_learners_own_weights_holds_nobody(own_model: PreTrainedModel) -> None:
    with pytest.raises(RuntimeError, match="own_weights"):
        local(own_model, own_weights=False).hold(KEYS)


def test_a_copy_is_never_trained(own_model: PreTrainedModel) -> None:
    sampler = local(own_model)
    assert not any(parameter.requires_grad for parameter in sampler._model.parameters())
    assert all(parameter.requires_grad for parameter in own_model.parameters())


def test_before_anything_was_taken_nothing_may_be_written(own_model: PreTrainedModel) -> None:
    with pytest.raises(RuntimeError, match="call sync"):
        WeightsInForce(own_model).check(KEYS, policy_version=0)


class Served:
    """A learner's model, and a sampler that has joined servers at version 0."""

    def __init__(self, *servers: FakeServer) -> None:
        self.model = Bigram()
        config = SamplerConfig(
            kind="sglang",
            urls=tuple(one.url for one in servers),
            deadline_s=10.0,
            control_s=10.0,
            launch=LaunchConfig(ready_s=1.0),
        )
        self.sampler = SglangSampler(
            as_pretrained(self.model), {3}, config, name="run", max_tokens=64
        )
        self.sampler.sync(0)

    def sampled(self, keys: Sequence[str] = KEYS) -> list[Completion]:
        """Return one turn of each dialogue."""
        asked = [SampleRequest(key, [n, n + 1], 8, n) for n, key in enumerate(keys)]
        return self.sampler.sample(asked, temperature=1.0)


@pytest.fixture
def servers() -> Iterator[list[FakeServer]]:
    first = FakeServer(Engine(Bigram(seed=9).table.detach().numpy(), "default"))
    second = FakeServer(Engine(Bigram(seed=8).table.detach().numpy(), "default"))
    with first, second:
        yield [first, second]


def test_servers_go_on_under_the_stamp_in_force_for_those_that_are_held(
    servers: list[FakeServer],
) -> None:
    served = Served(*servers)
    assert isinstance(served.sampler, HoldsWeights)
    expected = served.sampled()
    served.sampler.hold(KEYS)
    update(served.model)
    assert served.sampled() == expected
    assert {one.policy_version for one in expected} == {0}
    with pytest.raises(RuntimeError, match="call sync"):
        served.sampled([*KEYS, "000003-00"])
    served.sampler.sync(1)
    assert {one.policy_version for one in served.sampled()} == {1}
    served.sampler.close()


def test_a_server_that_dies_while_the_learner_learns_comes_back_at_the_sync(
    servers: list[FakeServer],
) -> None:
    served = Served(*servers)
    served.sampler.hold(KEYS)
    update(served.model)
    servers[0].die()
    assert {one.finish for one in served.sampled()} <= {Finish.STOP, Finish.LENGTH}
    servers[1].die()
    failed = served.sampled()
    assert {one.finish for one in failed} == {Finish.FAILED}
    assert all("the next sync brings servers back" in str(one.error) for one in failed)
    with pytest.raises(SamplerLost):
        served.sampler.sync(1)
    served.sampler.close()


def test_weights_that_the_learner_has_no_more_are_never_given_under_the_old_stamp(
    servers: list[FakeServer],
) -> None:
    served = Served(servers[0])
    served.sampler.hold(KEYS)
    update(served.model)
    servers[0].die()
    served.sampled()
    returned = FakeServer(
        Engine(Bigram(seed=7).table.detach().numpy(), "default"), port=servers[0].port
    )
    with returned:
        assert {one.finish for one in served.sampled()} == {Finish.FAILED}
        assert returned.engine.stamp == "default", "nobody has told it anything"
        served.sampler.sync(1)
        assert returned.engine.stamp == "run-1"
        assert {one.policy_version for one in served.sampled()} == {1}
    served.sampler.close()
