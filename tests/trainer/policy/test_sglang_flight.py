"""Turns under way at SGLang servers come back once each, whatever happens to their servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pytest

from tests.trainer.policy.sglang_fake import Fault
from tests.trainer.policy.test_sglang_sampler import Stage, ask
from trainer.policy.sampler import Completion, Finish, SampleRequest, SamplerFault, TurnsInFlight
from trainer.policy.sglang_config import LaunchConfig
from trainer.policy.sglang_flight import MOST_SERVERS, TurnsUnderWay
from trainer.policy.sglang_sampler import SglangSampler
from trainer.policy.sglang_turns import Sent, Wanted
from trainer.policy.turns import WritingTurn

WAIT_S = 60.0
READY_S = 3.0


@pytest.fixture
def stage() -> Iterator[Stage]:
    with ExitStack() as stack:
        yield Stage(stack)


def begin(sampler: SglangSampler, requests: Sequence[SampleRequest]) -> threading.Event:
    bell = threading.Event()
    sampler.begin(requests, temperature=1.0, ring=bell.set)
    return bell


def land(
    sampler: SglangSampler | TurnsUnderWay, bell: threading.Event, count: int
) -> dict[str, Completion]:
    """Return so many turns, in the order in which they came."""
    landed: dict[str, Completion] = {}
    until = time.monotonic() + WAIT_S
    while len(landed) < count and time.monotonic() < until:
        bell.wait(0.2)
        bell.clear()
        for key, completion in sampler.finished():
            assert key not in landed, "a turn comes back once"
            landed[key] = completion
    assert len(landed) == count
    return landed


def test_turns_in_flight_are_those_that_a_batch_would_bring(stage: Stage) -> None:
    sampler = stage.sampler(stage.server())
    assert isinstance(sampler, TurnsInFlight)
    requests = [*(ask(number) for number in range(6)), ask(9, length=64)]
    batch = sampler.sample(requests, temperature=1.0)
    bell = begin(sampler, requests)
    found = land(sampler, bell, 7)
    assert [found[one.dialogue] for one in requests] == batch
    assert found[requests[6].dialogue] == Completion((), (), Finish.LENGTH, 0)


def test_a_turn_that_hangs_holds_back_no_other_and_is_aborted_there(stage: Stage) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    server.engine.faults = {Fault.HANGS}
    bell = begin(sampler, [ask(1)])
    while not any(body["rid"] == "run-0-1" for body in server.engine.bodies):
        time.sleep(0.01)
    server.engine.faults = set()
    # The fake looks again at each token, so the hanging one ends too; a fresh one hangs for good.
    land(sampler, bell, 1)
    server.engine.faults = {Fault.HANGS}
    bell = begin(sampler, [ask(2)])
    sampler.abort([ask(2).dialogue, "nobody's"])
    (turn,) = land(sampler, bell, 1).values()
    assert turn.finish is Finish.FAILED and "aborted" in str(turn.error)
    assert [one["up"] for one in sampler.health()["servers"]] == [True]


def test_a_released_dialogue_is_never_told_and_may_be_asked_again(stage: Stage) -> None:
    server = stage.server()
    sampler = stage.sampler(server)
    server.engine.faults = {Fault.HANGS}
    begin(sampler, [ask(1)])
    with pytest.raises(ValueError, match="has a turn under way"):
        begin(sampler, [ask(1)])
    sampler.release([ask(1).dialogue])
    server.engine.faults = set()
    bell = begin(sampler, [ask(1)])
    (turn,) = land(sampler, bell, 1).values()
    assert turn.finish is not Finish.FAILED
    time.sleep(0.2)
    assert sampler.finished() == []


def test_a_server_that_dies_hands_its_turns_in_flight_to_the_other(stage: Stage) -> None:
    servers = [stage.server(), stage.server()]
    sampler = stage.sampler(*servers)
    requests = [ask(number) for number in range(8)]
    before = sampler.sample(requests, temperature=1.0)
    for server in servers:
        server.engine.token_s = 0.02
    bell = begin(sampler, requests)
    servers[0].engine.faults = {Fault.BREAKS_OFF}
    found = land(sampler, bell, 8)
    assert [found[one.dialogue].ids for one in requests] == [one.ids for one in before]
    assert [one.kind for one in sampler.incidents()] == ["engine_lost"]


def test_with_none_left_every_turn_fails_and_nobody_waits_twice(stage: Stage) -> None:
    server = stage.server()
    sampler = stage.sampler(server, launch=LaunchConfig(ready_s=READY_S))
    server.die()
    bell = begin(sampler, [ask(1)])
    (turn,) = land(sampler, bell, 1).values()
    assert turn.finish is Finish.FAILED and "not healthy" in str(turn.error)
    began = time.monotonic()
    bell = begin(sampler, [ask(number) for number in range(4)])
    turns = land(sampler, bell, 4).values()
    assert {one.finish for one in turns} == {Finish.FAILED}
    assert time.monotonic() - began < READY_S, "it was waited for once, in the turn before"


@contextmanager
def under_way(urls: list[str], lost: list[str]) -> Iterator[TurnsUnderWay]:
    """Turns whose servers come from a list, one for each time that a turn is sent."""

    def address(turn: WritingTurn) -> Sent:
        if not urls:
            raise SamplerFault("no server is left")
        return Sent(turn, urls.pop(0), f"rid-{len(urls)}")

    one = TurnsUnderWay(address, lambda url, why: lost.append(url), max_tokens=64)
    yield one
    one.close()


WANTED = Wanted("run-0", 0, 1.0, False, {3}, 10.0)


def test_a_turn_that_takes_down_every_server_is_given_up() -> None:
    dead = [f"http://127.0.0.1:{port}" for port in range(1, 10)]
    lost: list[str] = []
    with under_way(list(dead), lost) as turns:
        written = turns.write([ask(1)], WANTED)
    (turn,) = written
    assert turn.finish is Finish.FAILED
    assert f"{MOST_SERVERS} servers were lost over this turn" in str(turn.error)
    assert lost == dead[:MOST_SERVERS]


def test_late_news_of_one_death_is_one_loss() -> None:
    dead = "http://127.0.0.1:1"
    lost: list[str] = []
    with under_way([dead, dead], lost) as turns:
        written = turns.write([ask(1), ask(2)], WANTED)
    assert {one.error for one in written} == {"no server is left"}
    assert lost == [dead], "both turns tell of it, and the server may be back by then"
