"""An endpoint that refuses, stalls, drips, floods or talks garbage is a typed failure in time."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.trainer.users.server import Answer, completion, serve
from trainer.users.chat import ChatFailure, ChatMessage
from trainer.users.endpoint import MAX_RESPONSE_BYTES, EndpointModel

CHAT = (ChatMessage("system", "Play a user."), ChatMessage("user", "Hello \ud83d"))
SECRET = "sk-test-0123456789"


def model(url: str, **changes: Any) -> EndpointModel:
    options: dict[str, Any] = {"deadline_s": 5.0, "backoff_s": 0.0, "trust_env": False} | changes
    return EndpointModel(url, "toy", **options)


def ask(asked: EndpointModel, num: int = 1) -> list[str | ChatFailure]:
    return asked.complete([CHAT] * num, temperature=0.5, max_tokens=9, seeds=list(range(num)))


def failure(answer: Callable[[int], Answer], **changes: Any) -> str:
    """The reason of a failure; it names no secret."""
    with serve(answer) as served:
        (result,) = ask(model(served.url, **changes))
    assert isinstance(result, ChatFailure), result
    assert SECRET not in result.reason
    return result.reason


def test_a_completion_is_returned_and_the_request_says_what_was_asked() -> None:
    with serve(lambda n: completion("Hi.")) as served:
        assert ask(model(served.url)) == ["Hi."]
    (body,) = served.requests
    assert body["model"] == "toy"
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.5, 9, 0)
    assert body["messages"][1] == {"role": "user", "content": "Hello \ud83d"}
    assert served.keys == [None]


def test_an_error_of_the_server_is_tried_again() -> None:
    with serve(lambda n: Answer(500) if n == 0 else completion("Hi.")) as served:
        assert ask(model(served.url)) == ["Hi."]
    assert len(served.requests) == 2


def test_attempts_are_bounded() -> None:
    assert "failed after 3 attempts: status 503" in failure(lambda n: Answer(503))


def test_a_refusal_is_not_tried_again() -> None:
    with serve(lambda n: Answer(400)) as served:
        (result,) = ask(model(served.url))
    assert isinstance(result, ChatFailure)
    assert "status 400; check url, model and limits" in result.reason
    assert len(served.requests) == 1


@pytest.mark.parametrize("answer", [Answer(stall=True), Answer(drip=True)], ids=["stalls", "drips"])
def test_a_hanging_server_costs_no_more_than_the_deadline(answer: Answer) -> None:
    started = time.monotonic()
    reason = failure(lambda n: answer, deadline_s=0.3)
    assert time.monotonic() - started < 3.0
    assert "deadline of 0.3 s" in reason or "Timeout" in reason


def test_waiting_as_the_server_asks_stays_within_the_deadline() -> None:
    started = time.monotonic()
    reason = failure(lambda n: Answer(429, headers={"retry-after": "3600"}), deadline_s=0.3)
    assert time.monotonic() - started < 3.0
    assert "status 429" in reason


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b"[]",
        b"\xff\xfe",
        b'{"choices": []}',
        b'{"choices": [{"message": {"content": null}}]}',
        b'{"choices": [{"message": {"content": ["a"]}}]}',
        b"[" * 100_000,
    ],
)
def test_garbage_is_a_failure(body: bytes) -> None:
    assert "without choices[0].message.content" in failure(lambda n: Answer(body=body), retries=1)


def test_a_flood_is_cut_off() -> None:
    flood = Answer(body=b"x" * (MAX_RESPONSE_BYTES + 10))
    assert f"more than {MAX_RESPONSE_BYTES} bytes" in failure(lambda n: flood, retries=0)


def test_an_empty_completion_is_an_answer() -> None:
    with serve(lambda n: completion("")) as served:
        assert ask(model(served.url)) == [""]


def test_a_closed_port_is_a_failure() -> None:
    with serve(lambda n: completion("Hi.")) as served:
        pass
    (result,) = ask(model(served.url))
    assert isinstance(result, ChatFailure)
    assert "ConnectError" in result.reason


def test_results_keep_their_order_and_no_more_than_the_limit_are_in_flight() -> None:
    def slow(number: int) -> Answer:
        time.sleep(0.02)
        return Answer(400) if number == 2 else completion("Hi.")

    with serve(slow) as served:
        results = ask(model(served.url, concurrency=3, retries=0), num=9)
    assert len(results) == 9
    assert sum(isinstance(result, ChatFailure) for result in results) == 1
    assert served.most_at_once <= 3
    failed = next(i for i, result in enumerate(results) if isinstance(result, ChatFailure))
    assert served.requests[2]["seed"] == failed


def test_several_threads_that_ask_share_the_limit_and_the_meter() -> None:
    def slow(number: int) -> Answer:
        time.sleep(0.02)
        return completion("Hi.")

    with serve(slow) as served, ThreadPoolExecutor(6) as threads:
        asked = model(served.url, concurrency=2)
        answers = list(threads.map(lambda _: ask(asked, num=2), range(6)))
    assert answers == [["Hi.", "Hi."]] * 6
    assert served.most_at_once <= 2
    assert asked.meter.total.requests == 12


def test_the_key_is_sent_and_is_in_nothing_that_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_KEY", SECRET)
    with serve(lambda n: completion(f"I was given {SECRET}.")) as served:
        asked = model(served.url, key_env="TOY_KEY")
        assert ask(asked) == ["I was given [redacted]."]
    assert served.keys == [f"Bearer {SECRET}"]
    assert SECRET not in repr(asked)
    echo = Answer(401, body=f"bad key {SECRET}".encode())
    assert "check the key in TOY_KEY" in failure(lambda n: echo, key_env="TOY_KEY")


def test_a_key_that_is_missing_or_unsendable_is_told_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TOY_KEY", raising=False)
    with pytest.raises(ValueError, match="TOY_KEY is not set"):
        model("http://127.0.0.1:1/v1", key_env="TOY_KEY")
    monkeypatch.setenv("TOY_KEY", "sk\nx: y")
    with pytest.raises(ValueError, match="no header") as caught:
        model("http://127.0.0.1:1/v1", key_env="TOY_KEY")
    assert "sk" not in str(caught.value).replace("ask", "")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8000",
        "ftp://h/v1",
        "http://u:p" + "@h/v1",
        "http://h/v1?key=k",
        "http://[::1",
        "http://",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(ValueError, match="endpoint url"):
        model(url)


@pytest.mark.parametrize("change", [{"deadline_s": 0}, {"retries": -1}, {"concurrency": 0}])
def test_limits_that_allow_nothing_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        model("http://127.0.0.1:1/v1", **change)
