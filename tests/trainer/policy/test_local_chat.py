"""A local chat model continues conversations, remembers them, and types what it cannot do."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from trainer.policy.build import Policy, assemble
from trainer.policy.local_chat import LocalChatModel, Message

BEGIN: list[Message] = [("system", "Play a user."), ("user", "Hello, what do you want?")]


@dataclass(frozen=True)
class Excuse:
    """The caller's own kind of failure."""

    reason: str


@pytest.fixture
def policy(own_model: PreTrainedModel, small_tokenizer: PreTrainedTokenizerFast) -> Policy:
    """A model that has never learnt to speak, which is enough here."""
    return assemble(own_model, small_tokenizer, name="babbler")


def test_a_growing_conversation_equals_one_read_afresh(policy: Policy) -> None:
    model = LocalChatModel(policy, Excuse, max_tokens=600)
    chat = list(BEGIN)
    for turn in range(3):
        said = model.complete([chat], temperature=0.8, max_tokens=12, seeds=[turn])[0]
        fresh = LocalChatModel(policy, Excuse, max_tokens=600)
        assert fresh.complete([chat], temperature=0.8, max_tokens=12, seeds=[turn]) == [said]
        assert isinstance(said, str)
        chat += [("assistant", said), ("user", f"And then {turn}?")]


def test_conversations_that_open_alike_are_told_apart(policy: Policy) -> None:
    model = LocalChatModel(policy, Excuse, max_tokens=600)
    chats = [list(BEGIN), list(BEGIN), [BEGIN[0], ("user", "Another start")]]
    for turn in range(2):
        seeds = [10 * turn + i for i in range(3)]
        together = model.complete(chats, temperature=1.0, max_tokens=10, seeds=seeds)
        for chat, seed, said in zip(chats, seeds, together, strict=True):
            alone = LocalChatModel(policy, Excuse, max_tokens=600)
            assert alone.complete([chat], temperature=1.0, max_tokens=10, seeds=[seed]) == [said]
            chat += [("assistant", str(said)), ("user", "Go on.")]
        chats.reverse()


def test_temperature_zero_is_greedy(policy: Policy) -> None:
    model = LocalChatModel(policy, Excuse, max_tokens=600)
    first, second = (
        model.complete([BEGIN], temperature=0, max_tokens=10, seeds=[seed]) for seed in (1, 2)
    )
    assert first == second


def test_a_conversation_too_long_is_a_typed_failure_and_the_rest_goes_on(policy: Policy) -> None:
    model = LocalChatModel(policy, Excuse, max_tokens=80)
    long: list[Message] = [("system", "Play."), ("user", "word " * 200)]
    failed, said = model.complete([long, BEGIN], temperature=1.0, max_tokens=5, seeds=[1, 2])
    assert isinstance(failed, Excuse)
    assert "babbler reads 80" in failed.reason
    assert isinstance(said, str)


@pytest.mark.parametrize("roles", [["system"], ["user", "assistant"], ["system", "user", "user"]])
def test_a_conversation_of_another_shape_is_refused(policy: Policy, roles: list[str]) -> None:
    model = LocalChatModel(policy, Excuse, max_tokens=80)
    with pytest.raises(ValueError, match="user message last"):
        model.complete([[(r, "x") for r in roles]], temperature=1.0, max_tokens=5, seeds=[1])
