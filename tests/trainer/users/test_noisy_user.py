"""The channel's faults come at their stated rates, are recorded, and replay by seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainer.users.dialogue import QUESTIONS, TASK, answer, request, rules, talk
from trainer.episode import Voice
from trainer.users.noisy import Fault, NoiseRates, NoisyUser
from trainer.users.seam import UserFailure, UserReply, UserRequest, UserState
from trainer.users.symbolic import SymbolicUser

SYMBOLIC = SymbolicUser(rules())
QUESTION = QUESTIONS["P1"]


def noisy(**rates: float) -> NoisyUser:
    return NoisyUser(SYMBOLIC, NoiseRates(**rates))


def test_the_faults_come_at_their_rates_within_binomial_bounds() -> None:
    rates = {"drift": 0.1, "leak": 0.2, "forgetting": 0.15, "early_stop": 0.05}
    user, n = noisy(**rates), 4000
    replies = user.reply([request(QUESTION, seed=seed) for seed in range(n)])
    seen = Counter(
        fault
        for reply in replies
        if isinstance(reply, UserReply)
        for fault in reply.private["faults"]
    )
    for name, rate in rates.items():
        # Four standard deviations: one false alarm in 16,000 such tests.
        assert abs(seen[name] / n - rate) < 4 * sqrt(rate * (1 - rate) / n), name


def test_rates_of_zero_change_nothing_but_the_voice() -> None:
    reply, clean = answer(noisy(), request(QUESTION)), answer(SYMBOLIC, request(QUESTION))
    assert (reply.text, reply.revealed, reply.state) == (clean.text, clean.revealed, clean.state)
    assert reply.voice is Voice.NOISY
    assert reply.private["faults"] == []


@pytest.mark.parametrize("fault", list(Fault))
def test_a_rate_of_one_is_always_that_fault(fault: Fault) -> None:
    for seed in range(50):
        reply = answer(noisy(**{fault.value: 1.0}), request(QUESTION, seed=seed))
        assert reply.private["faults"] == [fault.value]
        assert reply.ends == (fault is Fault.EARLY_STOP)


def test_what_was_forgotten_was_not_disclosed() -> None:
    reply = answer(noisy(forgetting=1.0), request(QUESTION))
    assert reply.revealed == ()
    assert dict(reply.state.reveal_counts) == {}
    assert not any(fact.statement in reply.text for fact in TASK.facts)
    assert reply.private["strategy"] == "be_vague"


def test_a_leak_adds_one_fact_that_nobody_asked_for_and_counts_it() -> None:
    reply = answer(noisy(leak=1.0), request(QUESTION))
    assert reply.revealed[0] == "P1"
    assert len(reply.revealed) == 2
    assert set(reply.state.reveal_counts) == set(reply.revealed)
    leaked = next(fact for fact in TASK.facts if fact.id == reply.revealed[1])
    assert reply.text.endswith(leaked.statement)


def test_a_fault_that_cannot_happen_is_not_claimed() -> None:
    assert answer(noisy(forgetting=1.0), request("Hello.")).private["faults"] == []
    everything = UserState(reveal_counts={fact.id: 1 for fact in TASK.facts})
    assert answer(noisy(leak=1.0), request(QUESTION, state=everything)).private["faults"] == []
    assert answer(noisy(drift=1.0), request("I recommend F8.")).ends


def test_a_leak_never_tells_a_withheld_kind() -> None:
    replies = talk(noisy(leak=1.0), ["Hello."] * 8, reveal_kinds=["hotel.*"])
    assert {fact for reply in replies for fact in reply.revealed} == {"P1", "P2"}


@given(
    st.lists(st.sampled_from([*QUESTIONS.values(), "Hello.", "I recommend F8."]), max_size=8),
    st.integers(0, 2**63 - 1),
    st.integers(1, 80),
)
def test_every_reply_keeps_the_length_limit_and_replays_exactly(
    messages: list[str], seed: int, limit: int
) -> None:
    user = noisy(drift=0.2, leak=0.3, forgetting=0.2, early_stop=0.1)
    replies = talk(user, messages, seed=seed, max_reply_chars=limit, max_reveals=1)
    assert replies == talk(user, messages, seed=seed, max_reply_chars=limit, max_reveals=1)
    told = Counter(fact for reply in replies for fact in reply.revealed)
    assert all(count == 1 for count in told.values())
    assert all(0 < len(reply.text) <= limit for reply in replies)


@pytest.mark.parametrize(
    "rates", [{"drift": -0.1}, {"leak": 1.1}, {"drift": 0.6, "forgetting": 0.6}]
)
def test_rates_that_are_no_probabilities_are_refused(rates: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="noise rate"):
        NoiseRates(**rates)


class _Broken:
    voice = Voice.SYMBOLIC

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        return [UserFailure("down") for _ in requests]


def test_a_failure_passes_through() -> None:
    user = NoisyUser(_Broken(), NoiseRates(drift=1.0))
    assert user.reply([request("x")]) == [UserFailure("down")]
