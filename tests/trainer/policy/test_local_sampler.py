"""Local sampling equals the model: alone or in a batch, turn after turn, ids and log-probs."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch
from transformers import PreTrainedModel

from trainer.episode import Speaker
from trainer.policy.chat import ChatFormat
from trainer.policy.local import LocalSampler
from trainer.policy.sampler import Completion, Finish, SampleRequest
from trainer.trajectory import TokenStream

VOCAB, CONTEXT = 300, 640
STOPS = frozenset({2, 40, 41, 42})


def sampler_of(model: PreTrainedModel, **changes: object) -> LocalSampler:
    arguments = {"max_dialogues": 32, "max_tokens": CONTEXT, **changes}
    return LocalSampler(model, STOPS, **arguments)  # type: ignore[arg-type]


def prompt(index: int, length: int | None = None) -> list[int]:
    chance = random.Random(index)
    return [chance.randrange(50, VOCAB) for _ in range(length or chance.randrange(3, 30))]


def request(key: str, ids: Sequence[int], *, new: int = 12, seed: int = 0) -> SampleRequest:
    return SampleRequest(key, ids, new, seed)


def play(
    sampler: LocalSampler, indices: Sequence[int], *, turns: int, greedy: bool = False
) -> dict[int, list[Completion]]:
    """Play dialogues side by side; dialogue i depends on i alone."""
    ids = {i: prompt(i) for i in indices}
    found: dict[int, list[Completion]] = {i: [] for i in indices}
    for turn in range(turns):
        requests = [request(f"d{i}", ids[i], seed=1000 * i + turn) for i in indices]
        for i, completion in zip(
            indices, sampler.sample(requests, temperature=0.7, greedy=greedy), strict=True
        ):
            found[i].append(completion)
            ids[i] = [*ids[i], *completion.ids, *prompt(77 * i + turn, 4 + (i + turn) % 9)]
    return found


def close(left: Sequence[Completion], right: Sequence[Completion]) -> None:
    for one, other in zip(left, right, strict=True):
        assert one.ids == other.ids
        assert one.finish == other.finish
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_greedy_turns_equal_transformers_generate_token_for_token(model: PreTrainedModel) -> None:
    indices = range(5)
    found = play(sampler_of(model), indices, turns=3, greedy=True)
    for i in indices:
        ids = prompt(i)
        for turn, completion in enumerate(found[i]):
            read = torch.tensor([ids])
            written = model.generate(  # type: ignore[operator]
                read,
                attention_mask=torch.ones_like(read),
                max_new_tokens=12,
                do_sample=False,
                eos_token_id=sorted(STOPS),
                pad_token_id=0,
            )
            assert list(completion.ids) == written[0, len(ids) :].tolist()
            ids = [*ids, *completion.ids, *prompt(77 * i + turn, 4 + (i + turn) % 9)]


def test_logprobs_equal_the_models_at_the_sampling_temperature(model: PreTrainedModel) -> None:
    found = play(sampler_of(model), range(4), turns=3)
    for i, completions in found.items():
        ids = prompt(i)
        for turn, completion in enumerate(completions):
            whole = torch.tensor([[*ids, *completion.ids]])
            with torch.no_grad():
                logits = model(input_ids=whole).logits[0, len(ids) - 1 : -1]
            expected = torch.log_softmax(logits.float() / 0.7, -1)
            picked = expected.gather(1, whole[0, len(ids) :, None])[:, 0]
            assert completion.logprobs == pytest.approx(picked.tolist(), abs=1e-5)
            ids = [*ids, *completion.ids, *prompt(77 * i + turn, 4 + (i + turn) % 9)]


def test_a_dialogue_alone_equals_the_same_among_seven_others(model: PreTrainedModel) -> None:
    together = play(sampler_of(model), range(8), turns=3)
    for i in range(8):
        close(play(sampler_of(model), [i], turns=3)[i], together[i])


def test_the_order_of_the_batch_does_not_matter(own_model: PreTrainedModel) -> None:
    forward = play(sampler_of(own_model), [0, 1, 2, 3, 4], turns=3)
    backward = play(sampler_of(own_model), [4, 3, 2, 1, 0], turns=3)
    for i in range(5):
        close(forward[i], backward[i])


def test_turns_that_end_early_leave_the_others_as_they_were(own_model: PreTrainedModel) -> None:
    """Of 24 dialogues most end at a step of their own; each equals itself alone."""
    together = play(sampler_of(own_model), range(24), turns=2)
    lengths = {len(c.ids) for completions in together.values() for c in completions}
    assert len(lengths) > 4, "the test needs turns of different lengths"
    for i in range(24):
        close(play(sampler_of(own_model), [i], turns=2)[i], together[i])


def test_dialogues_at_different_turns_share_a_batch(own_model: PreTrainedModel) -> None:
    sampler = sampler_of(own_model)
    old = prompt(1, 40)
    first = sampler.sample([request("old", old, seed=5)], temperature=0.7)[0]
    longer = [*old, *first.ids, *prompt(2, 7)]
    mixed = sampler.sample(
        [request("new", prompt(3), seed=6), request("old", longer, seed=7)], temperature=0.7
    )
    alone = sampler_of(own_model).sample([request("x", longer, seed=7)], temperature=0.7)
    close(alone, mixed[1:])


def test_more_dialogues_than_rows_are_served_in_waves(own_model: PreTrainedModel) -> None:
    narrow = play(sampler_of(own_model, max_dialogues=3), range(8), turns=3)
    wide = play(sampler_of(own_model), range(8), turns=3)
    for i in range(8):
        close(narrow[i], wide[i])


def test_history_that_changed_is_read_again(own_model: PreTrainedModel) -> None:
    sampler = sampler_of(own_model)
    ids = prompt(1, 20)
    sampler.sample([request("d", ids)], temperature=0.7)
    for changed in ([*ids[:10], 99, *ids[11:], 7], [5, *ids], ids[:4], ids):
        found = sampler.sample([request("d", changed, seed=3)], temperature=0.7)
        fresh = sampler_of(own_model).sample([request("e", changed, seed=3)], temperature=0.7)
        close(fresh, found)


def test_a_released_dialogue_leaves_nothing_behind(own_model: PreTrainedModel) -> None:
    sampler = sampler_of(own_model)
    before = play(sampler, range(6), turns=2)
    sampler.release(["d1", "d4", "never seen"])
    after = play(sampler, [1, 4, 0], turns=2)
    for i in (0, 1, 4):
        close(before[i], after[i])


def test_long_prompts_are_read_in_parts_and_the_cache_grows(own_model: PreTrainedModel) -> None:
    sampler = sampler_of(own_model, max_dialogues=16)
    requests = [request(f"d{i}", prompt(i, 20 + 38 * i), seed=i) for i in range(16)]
    found = sampler.sample(requests, temperature=0.7)
    for one, completion in zip(requests, found, strict=True):
        close(sampler_of(own_model).sample([one], temperature=0.7), [completion])


def test_a_prompt_longer_than_one_pass_equals_the_models_reading(
    own_model: PreTrainedModel,
) -> None:
    ids = prompt(9, 600)
    completion = sampler_of(own_model).sample([request("d", ids, new=1)], temperature=0.7)[0]
    with torch.no_grad():
        logits = own_model(input_ids=torch.tensor([ids])).logits[0, -1]
    expected = torch.log_softmax(logits / 0.7, -1)[completion.ids[0]].item()
    assert completion.logprobs[0] == pytest.approx(expected, abs=1e-5)


def test_the_seed_alone_decides(own_model: PreTrainedModel) -> None:
    sampler = sampler_of(own_model)
    ask = [request(f"d{seed}", prompt(1), seed=seed) for seed in range(12)]
    first, again = (sampler.sample(ask, temperature=1.5) for _ in range(2))
    assert [c.ids for c in first] == [c.ids for c in again]
    assert len({c.ids for c in first}) > 6


@pytest.mark.parametrize("stop", sorted(STOPS))
def test_any_end_token_ends_a_turn_and_is_its_last_id(
    own_model: PreTrainedModel, stop: int
) -> None:
    with torch.no_grad():
        own_model.lm_head.weight = torch.nn.Parameter(torch.zeros(VOCAB, 32))  # type: ignore
        ids = prompt(0)
        states = own_model.model(input_ids=torch.tensor([ids])).last_hidden_state  # type: ignore
        own_model.lm_head.weight[stop] = states[0, -1]  # type: ignore[index]
    completion = sampler_of(own_model).sample([request("d", ids)], temperature=1.0, greedy=True)[0]
    assert completion.ids == (stop,)
    assert completion.finish is Finish.STOP


def test_a_turn_stops_at_its_limit_and_at_the_context(own_model: PreTrainedModel) -> None:
    sampler = LocalSampler(own_model, [], max_dialogues=4, max_tokens=30)
    limited, full, none = sampler.sample(
        [
            request("limited", prompt(1, 10), new=6),
            request("full", prompt(2, 27), new=6),
            request("none", prompt(3, 30), new=6),
        ],
        temperature=1.0,
    )
    assert [len(c.ids) for c in (limited, full, none)] == [6, 3, 0]
    assert {c.finish for c in (limited, full, none)} == {Finish.LENGTH}


def test_new_weights_need_a_sync_and_then_decide(own_model: PreTrainedModel) -> None:
    sampler = sampler_of(own_model)
    ids = prompt(1, 25)
    before = sampler.sample([request("d", ids)], temperature=0.7)
    with torch.no_grad():
        for parameter in own_model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    with pytest.raises(RuntimeError, match="call sync"):
        sampler.sample([request("d", ids)], temperature=0.7)
    sampler.sync(1)
    after = sampler.sample([request("d", ids)], temperature=0.7)
    fresh = sampler_of(own_model).sample([request("d", ids)], temperature=0.7)
    close(fresh, after)
    assert before[0].ids != after[0].ids
    assert (before[0].policy_version, after[0].policy_version) == (0, 1)


def test_after_a_sync_nothing_tells_an_old_sampler_from_a_new_one(
    own_model: PreTrainedModel,
) -> None:
    """To the last bit: a resumed run samples what the run that was not stopped samples."""
    old = sampler_of(own_model)
    play(old, range(20), turns=3)
    old.sample([request("long", prompt(5, 600))], temperature=0.7)
    old.sync(1)
    fresh = sampler_of(own_model, policy_version=1)
    assert play(old, range(9), turns=3) == play(fresh, range(9), turns=3)


def test_a_real_optimizer_step_is_noticed(own_model: PreTrainedModel) -> None:
    sampler = sampler_of(own_model)
    optimizer = torch.optim.AdamW(own_model.parameters(), lr=1e-3)
    own_model(input_ids=torch.tensor([prompt(1)])).logits.sum().backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match="weights changed"):
        sampler.sample([request("d", prompt(1))], temperature=0.7)


def test_a_closed_sampler_can_be_asked_again(own_model: PreTrainedModel) -> None:
    sampler = sampler_of(own_model)
    before = play(sampler, range(3), turns=2)
    sampler.close()
    after = play(sampler, range(3), turns=2)
    for i in range(3):
        close(before[i], after[i])


def test_the_stream_built_from_completions_keeps_the_prefix_property(
    own_model: PreTrainedModel, chat: ChatFormat
) -> None:
    sampler = LocalSampler(own_model, chat.stop_ids, max_dialogues=2, max_tokens=CONTEXT)
    stream = TokenStream()
    stream.observe(chat.open("Help.", "A hotel."), starts_segment=True)
    sampled = 0
    for turn in range(3):
        asked = tuple(stream.ids)
        completion = sampler.sample([request("d", asked, seed=turn)], temperature=1.0)[0]
        stream.act(len(asked), completion.ids, completion.logprobs)
        assert tuple(stream.ids[: len(asked)]) == asked
        assert tuple(stream.ids[len(asked) :]) == completion.ids
        sampled += len(completion.ids)
        stream.observe(chat.extend([(Speaker.USER, "No.")], ended=completion.finish is Finish.STOP))
    assert sum(stream.action_mask) == sampled


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_a_temperature_that_is_no_temperature_is_refused(
    own_model: PreTrainedModel, temperature: float
) -> None:
    with pytest.raises(ValueError, match="greedy=True"):
        sampler_of(own_model).sample([request("d", prompt(1))], temperature=temperature)


def test_requests_that_make_no_sense_are_refused(own_model: PreTrainedModel) -> None:
    sampler = sampler_of(own_model)
    twice = [request("d", prompt(1)), request("d", prompt(2))]
    with pytest.raises(ValueError, match="one turn at a time"):
        sampler.sample(twice, temperature=1.0)
    for ids, new in (([], 3), (prompt(1), 0)):
        with pytest.raises(ValueError, match="at least 1"):
            sampler.sample([request("d", ids, new=new)], temperature=1.0)
    for foreign in (VOCAB, -1):
        with pytest.raises(ValueError, match="another tokenizer"):
            sampler.sample([request("d", [5, foreign])], temperature=1.0)
    close(
        sampler_of(own_model).sample([request("d", prompt(1))], temperature=1.0),
        sampler.sample([request("d", prompt(1))], temperature=1.0),
    )


def test_weights_that_are_not_finite_are_an_error(own_model: PreTrainedModel) -> None:
    sampler = sampler_of(own_model)
    with torch.no_grad():
        next(own_model.parameters()).fill_(torch.nan)
    sampler.sync(1)
    with pytest.raises(FloatingPointError, match="weights have diverged"):
        sampler.sample([request("d", prompt(1))], temperature=1.0)
    with pytest.raises(FloatingPointError):
        sampler.sample([request("d", prompt(1))], temperature=1.0, greedy=True)


def test_no_requests_give_no_completions(own_model: PreTrainedModel) -> None:
    assert sampler_of(own_model).sample([], temperature=1.0) == []
