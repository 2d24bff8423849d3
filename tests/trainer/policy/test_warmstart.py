"""A warm start learns the agent's words, only them, the same way every time."""

from __future__ import annotations

import math
import random

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from trainer.episode import Speaker
from trainer.policy import warmstart
from trainer.policy.build import Policy, assemble, small_qwen3
from trainer.policy.chat import ChatFormat
from trainer.policy.local import LocalSampler
from trainer.policy.sampler import Finish, SampleRequest
from trainer.policy.warmstart import (
    Demonstration,
    Schedule,
    WarmStartConfig,
    bucket,
    demonstrate,
    imitation_loss,
    learning_rate,
    warm_start,
)

USER, AGENT, TOOL = Speaker.USER, Speaker.AGENT, Speaker.TOOL
DIALOGUES = [
    Demonstration(
        "Help.",
        [
            (USER, f"I want item {n}."),
            (AGENT, f"[search] item {n}"),
            (TOOL, f"C{n} found"),
            (AGENT, f"[answer] C{n}"),
            (USER, "Thanks, bye."),
        ],
    )
    for n in range(6)
]


def fresh(tokenizer: PreTrainedTokenizerFast) -> Policy:
    model = small_qwen3(
        len(tokenizer),
        hidden=48,
        layers=2,
        head_dim=16,
        ffn=96,
        max_positions=256,
        init_std=0.1,
        seed=4,
    )
    return assemble(model, tokenizer, name="small")


def test_a_demonstration_becomes_the_stream_of_a_lived_dialogue(chat: ChatFormat) -> None:
    stream = demonstrate(chat, DIALOGUES[0])
    texts, current = [], []
    for token, turn in zip(stream.ids, stream.turn_ids, strict=True):
        if turn >= 0 and len(texts) <= turn:
            texts.append(current := [])
        if turn >= 0:
            current.append(token)
    assert [chat.decode(ids) for ids in texts] == ["[search] item 0", "[answer] C0"]
    assert all(ids[-1] == chat.end_id for ids in texts), "end tokens are learnt"
    assert stream.action_mask[-1], "what follows the last turn of the agent is left out"
    assert max(stream.segment_ids) == 0, "a tool's word begins no segment"


def test_the_loss_is_the_agents_tokens_mean_whatever_the_batch(
    small_tokenizer: PreTrainedTokenizerFast,
) -> None:
    policy = fresh(small_tokenizer)
    streams = [demonstrate(policy.chat, one) for one in DIALOGUES[:2]]
    streams.append(
        demonstrate(policy.chat, Demonstration("Be short.", [(USER, "?"), (AGENT, "No")]))
    )
    total, count = 0.0, 0
    for stream in streams:
        with torch.no_grad():
            logits = policy.model(input_ids=torch.tensor([stream.ids])).logits[0]
        logprobs = torch.log_softmax(logits, -1)
        for position, is_action in enumerate(stream.action_mask):
            if is_action:
                total -= logprobs[position - 1, stream.ids[position]].item()
                count += 1
    assert imitation_loss(policy.model, streams).item() == pytest.approx(total / count, rel=1e-5)


def test_how_a_batch_is_cut_into_passes_does_not_matter(
    small_tokenizer: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = WarmStartConfig(steps=3, tokens_per_batch=1024)
    whole, cut = fresh(small_tokenizer), fresh(small_tokenizer)
    expected = warm_start(whole, DIALOGUES, config)
    monkeypatch.setattr(warmstart, "PASS_TOKENS", 150)
    assert warm_start(cut, DIALOGUES, config) == pytest.approx(expected, rel=1e-4)


def test_a_model_of_another_family_learns_too(small_tokenizer: PreTrainedTokenizerFast) -> None:
    size = len(small_tokenizer)
    gpt2 = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=size, n_positions=256, n_embd=32, n_layer=1, n_head=2, bos_token_id=2,
            eos_token_id=2,
        )
    )  # fmt: skip
    policy = assemble(gpt2, small_tokenizer, name="gpt2")
    losses = warm_start(policy, DIALOGUES, WarmStartConfig(steps=20, tokens_per_batch=512))
    assert losses[-1] < 0.8 * losses[0]


def test_it_learns_to_say_what_was_shown(small_tokenizer: PreTrainedTokenizerFast) -> None:
    policy = fresh(small_tokenizer)
    steps: list[int] = []
    losses = warm_start(
        policy,
        DIALOGUES,
        WarmStartConfig(steps=120, tokens_per_batch=512, lr=1e-2, seed=0),
        progress=lambda step, loss: steps.append(step),
    )
    assert losses[0] == pytest.approx(math.log(len(small_tokenizer)), rel=0.1)
    assert losses[-1] < 0.2
    assert steps == list(range(1, 121))
    assert not policy.model.training
    sampler = LocalSampler(policy.model, policy.chat.stop_ids, max_dialogues=1, max_tokens=200)
    ids = policy.chat.open("Help.", "I want item 3.")
    written = sampler.sample([SampleRequest("d", ids, 30, 0)], temperature=1.0, greedy=True)[0]
    assert policy.chat.decode(written.ids) == "[search] item 3"
    assert written.finish is Finish.STOP


def test_the_same_seed_gives_the_same_weights(small_tokenizer: PreTrainedTokenizerFast) -> None:
    def run(seed: int) -> tuple[list[float], torch.Tensor]:
        policy = fresh(small_tokenizer)
        losses = warm_start(
            policy, DIALOGUES, WarmStartConfig(steps=5, tokens_per_batch=128, seed=seed)
        )
        return losses, policy.model.get_input_embeddings().weight.detach()  # type: ignore

    torch.manual_seed(1)
    first = run(0)
    torch.manual_seed(2)
    second = run(0)
    assert first[0] == second[0]
    assert torch.equal(first[1], second[1])
    assert run(1)[0] != first[0]


def test_batches_hold_every_dialogue_once_and_stay_in_their_budget(chat: ChatFormat) -> None:
    chance = random.Random(0)
    streams = [
        demonstrate(chat, Demonstration("S", [(USER, "x " * chance.randrange(60)), (AGENT, "y")]))
        for _ in range(40)
    ]
    batches = bucket(streams, 300, random.Random(1))
    assert sorted(id(s) for batch in batches for s in batch) == sorted(map(id, streams))
    padded = [len(batch) * max(len(s.ids) for s in batch) for batch in batches]
    assert max(padded) <= 300
    assert sum(len(s.ids) for s in streams) > 0.7 * sum(padded), "like lengths go together"


@pytest.mark.parametrize("schedule", Schedule)
def test_the_learning_rate_rises_and_falls(schedule: Schedule) -> None:
    config = WarmStartConfig(steps=100, lr=1.0, schedule=schedule, rise=0.1)
    rates = [learning_rate(step, config) for step in range(100)]
    assert rates[:10] == pytest.approx([i / 10 for i in range(1, 11)])
    middle = {Schedule.COSINE: 0.5, Schedule.LINEAR: 0.5, Schedule.CONSTANT: 1.0}[schedule]
    assert rates[55] == pytest.approx(middle)
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert all(rate > 0 for rate in rates)


@pytest.mark.parametrize(
    "turns", [[], [(AGENT, "hi")], [(USER, "hi")], [(TOOL, "x"), (AGENT, "hi")]]
)
def test_a_demonstration_that_shows_nothing_is_refused(
    chat: ChatFormat, turns: list[tuple[Speaker, str]]
) -> None:
    with pytest.raises(ValueError, match="opens with a user's message"):
        demonstrate(chat, Demonstration("S", turns))


def test_what_does_not_fit_is_refused_by_its_number(
    small_tokenizer: PreTrainedTokenizerFast,
) -> None:
    policy = fresh(small_tokenizer)
    long = Demonstration("S", [(USER, "word " * 400), (AGENT, "no")])
    with pytest.raises(ValueError, match="demonstration 1 has"):
        warm_start(policy, [DIALOGUES[0], long], WarmStartConfig(steps=1))
    with pytest.raises(ValueError, match="nothing to learn"):
        warm_start(policy, [], WarmStartConfig(steps=1))


def test_a_start_that_diverges_stops(small_tokenizer: PreTrainedTokenizerFast) -> None:
    policy = fresh(small_tokenizer)
    with torch.no_grad():
        next(policy.model.parameters()).fill_(torch.inf)
    with pytest.raises(FloatingPointError, match="lower its lr"):
        warm_start(policy, DIALOGUES, WarmStartConfig(steps=2))
