"""What an endpoint costs is counted by its own word or at its most, and a limit ends the asking."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trainer.users.server import Answer, completion, serve
from trainer.users import spending
from trainer.users.chat import ChatFailure, ChatMessage
from trainer.users.endpoint import EndpointModel
from trainer.users.spending import Limits, Meter, Prices, Spent

CHAT = (ChatMessage("system", "Play a user."), ChatMessage("user", "Hello"))
USAGE = {"prompt_tokens": 900, "completion_tokens": 100}
MINI = Prices(prompt_usd=0.15, completion_usd=0.60)


def ask(url: str, meter: Meter, num: int = 1, **changes: Any) -> list[str | ChatFailure]:
    options: dict[str, Any] = {"deadline_s": 5.0, "backoff_s": 0.0, "trust_env": False} | changes
    asked = EndpointModel(url, "toy", meter=meter, **options)
    return asked.complete([CHAT] * num, temperature=0.0, max_tokens=9, seeds=[0] * num)


def test_tokens_are_counted_as_the_server_tells_them() -> None:
    meter = Meter(MINI)
    with serve(lambda n: completion("Hi.", USAGE)) as served:
        assert ask(served.url, meter, 3) == ["Hi."] * 3
    assert meter.total == Spent(requests=3, prompt_tokens=2700, completion_tokens=300)
    # 2,700 x .15 + 300 x .60 = 405 + 180 millionths of a dollar.
    assert meter.told(meter.total)["usd"] == pytest.approx(0.000585)


@pytest.mark.parametrize(
    "usage",
    [None, [], {"prompt_tokens": 1}, {"prompt_tokens": -1, "completion_tokens": 1}],
    ids=str,
)
def test_what_a_server_does_not_tell_counts_at_its_most(usage: object) -> None:
    meter = Meter()
    with serve(lambda n: completion("Hi.", usage)) as served:
        ask(served.url, meter)
    total = meter.total
    assert (total.requests, total.failures, total.assumed) == (1, 0, 1)
    assert total.prompt_tokens > len("Play a user.Hello") and total.completion_tokens == 9


def test_repetitions_are_requests_and_a_refusal_costs_no_tokens() -> None:
    meter = Meter()
    with serve(lambda n: Answer(503) if n == 0 else completion("Hi.", USAGE)) as served:
        ask(served.url, meter)
    assert meter.total == Spent(2, 1, 0, 900, 100)


def test_a_server_that_was_never_reached_costs_no_tokens() -> None:
    meter = Meter()
    with serve(lambda n: completion("Hi.")) as served:
        pass
    ask(served.url, meter, retries=0)
    assert meter.total == Spent(requests=1, failures=1)


def test_an_attempt_that_is_cut_off_counts_at_its_most() -> None:
    meter = Meter()
    with serve(lambda n: Answer(stall=True)) as served:
        ask(served.url, meter, retries=0, deadline_s=0.2)
    assert (meter.total.assumed, meter.total.completion_tokens) == (1, 9)


def test_at_a_limit_nothing_more_is_sent() -> None:
    meter = Meter(limits=Limits(tokens=2500))
    with serve(lambda n: completion("Hi.", USAGE)) as served:
        results = ask(served.url, meter, 5, concurrency=1)
    assert results[:3] == ["Hi."] * 3 and len(served.requests) == 3
    assert isinstance(results[3], ChatFailure)
    assert "3000 tokens of limit.tokens 2500 are spent" in results[3].reason


def test_a_limit_in_dollars_goes_by_the_stated_prices() -> None:
    meter = Meter(MINI, Limits(usd=0.0004))
    meter.add(Spent(requests=1, prompt_tokens=2000, completion_tokens=100))
    assert meter.exhausted() is None
    meter.add(Spent(requests=1, completion_tokens=100))
    assert "$0.0004 of limit.usd 0.0004" in str(meter.exhausted())


def test_a_limit_in_dollars_without_a_price_is_refused() -> None:
    with pytest.raises(ValueError, match=r"state price\.prompt_usd"):
        Meter(limits=Limits(usd=1.0))


@pytest.mark.parametrize("prices", [{"prompt_usd": 1.0}, {"prompt_usd": -1, "completion_usd": 1}])
def test_half_a_price_or_a_negative_one_is_refused(prices: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="state both"):
        Prices(**prices)


@pytest.mark.parametrize("limits", [{"tokens": 0}, {"usd": float("nan")}, {"usd": -1.0}])
def test_a_limit_that_allows_nothing_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        Limits(**limits)


def test_a_meter_goes_on_from_what_is_on_file() -> None:
    first = Meter(MINI)
    first.add(Spent(4, 1, 0, 10, 5))
    again = Meter(MINI, before=spending.from_record(first.told(first.total)))
    assert again.total == first.total
    again.add(Spent(requests=1))
    assert again.total.minus(first.total) == Spent(requests=1)


@pytest.mark.parametrize("values", [{}, {"requests": "many"}, {"requests": -3, "usd": 1.0}])
def test_a_record_without_counts_is_a_meter_at_zero(values: dict[str, Any]) -> None:
    assert spending.from_record(values) == Spent()
