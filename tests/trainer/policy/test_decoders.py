"""Each decoder computes its model's logits, and a model that cannot be decoded is refused."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from trainer.policy import llama
from trainer.policy.cache import KeyValueCache
from trainer.policy.decoder import plan_reading
from trainer.policy.forward import choose_decoder, decoding_error, weights_mark
from trainer.policy.generic import ModelDecoder
from trainer.policy.llama import LlamaDecoder
from trainer.policy.local import LocalSampler
from trainer.policy.sampler import SampleRequest

SIZES: dict[str, Any] = {
    "vocab_size": 120,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}


def logits_of(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return cast("Any", model)(input_ids=torch.tensor([ids])).logits[0, -1]


def test_logits_differ_by_less_than_a_ten_thousandth(model: PreTrainedModel) -> None:
    """Three rows of unequal length, read in three unequal parts."""
    decoder = choose_decoder(model, max_tokens=256)
    cache = KeyValueCache(decoder.shape, max_columns=256)
    cache.reserve(3, 200)
    chance = torch.Generator().manual_seed(2)
    dialogues = [torch.randint(0, 300, (150,), generator=chance).tolist() for _ in range(3)]
    cuts = [(0, 40, 41, 150), (0, 1, 60, 61), (0, 100, 120, 121)]
    for part in range(3):
        spans = [(cut[part], cut[part + 1]) for cut in cuts]
        new = [ids[start:end] for ids, (start, end) in zip(dialogues, spans, strict=True)]
        plan = plan_reading(
            new,
            [0, 1, 2],
            [start for start, _ in spans],
            dtype=decoder.shape.dtype,
            device=decoder.shape.device,
        )
        with torch.inference_mode():
            found = decoder.forward(cache, plan)
        for row, (_, end) in enumerate(spans):
            expected = logits_of(model, dialogues[row][:end])
            assert (found[row] - expected).abs().max() < 1e-4


def test_the_family_is_decoded_by_hand_and_others_by_their_forward(
    model: PreTrainedModel,
) -> None:
    by_hand = type(model).__name__ in {"Qwen3ForCausalLM", "Qwen2ForCausalLM", "LlamaForCausalLM"}
    decoder = choose_decoder(model, max_tokens=100)
    assert isinstance(decoder, LlamaDecoder if by_hand else ModelDecoder)


def test_both_passes_agree_on_the_family(own_model: PreTrainedModel) -> None:
    for decoder in (LlamaDecoder, ModelDecoder):
        made = decoder(own_model, max_tokens=100)
        assert decoding_error(own_model, made, max_tokens=100) < 1e-5


def test_maps_that_are_not_joined_compute_the_same(
    own_model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large models keep their own matrices instead of joined copies."""
    monkeypatch.setattr(llama, "JOIN_UP_TO", 0)
    decoder = LlamaDecoder(own_model, max_tokens=100)
    assert decoding_error(own_model, decoder, max_tokens=100) < 1e-5


def test_a_head_of_its_own_is_used() -> None:
    untied = LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=False)).eval()
    assert decoding_error(untied, choose_decoder(untied, max_tokens=99), max_tokens=99) < 1e-5


def test_half_precision_is_near(own_model: PreTrainedModel) -> None:
    half = choose_decoder(own_model, max_tokens=100, dtype=torch.bfloat16)
    assert half.shape.dtype is torch.bfloat16
    assert 1e-5 < decoding_error(own_model, half, max_tokens=100) < 0.1


def test_a_sliding_window_is_right_up_to_its_size_and_refused_beyond() -> None:
    mistral = MistralForCausalLM(MistralConfig(**SIZES, sliding_window=64)).eval()
    assert decoding_error(mistral, choose_decoder(mistral, max_tokens=64), max_tokens=64) < 1e-5
    with pytest.raises(ValueError, match="max_tokens to at most 64"):
        choose_decoder(mistral, max_tokens=65)
    sliding = Qwen2ForCausalLM(
        Qwen2Config(**SIZES, use_sliding_window=True, sliding_window=64, max_window_layers=1)
    ).eval()
    assert isinstance(choose_decoder(sliding, max_tokens=64), LlamaDecoder)
    with pytest.raises(ValueError, match="see 64 tokens"):
        choose_decoder(sliding, max_tokens=100)


def test_a_model_with_another_kind_of_state_is_refused() -> None:
    mamba = MambaForCausalLM(MambaConfig(vocab_size=50, hidden_size=16, num_hidden_layers=2))
    with pytest.raises(ValueError, match="keys and values"):
        choose_decoder(mamba.eval(), max_tokens=50)


def test_more_tokens_than_the_context_are_refused(own_model: PreTrainedModel) -> None:
    with pytest.raises(ValueError, match=r"must lie in 2\.\.640"):
        choose_decoder(own_model, max_tokens=641)


def test_another_dtype_is_for_the_family_alone() -> None:
    mistral = MistralForCausalLM(MistralConfig(**SIZES, sliding_window=None)).eval()
    with pytest.raises(ValueError, match=r"load it in torch\.bfloat16"):
        choose_decoder(mistral, max_tokens=50, dtype=torch.bfloat16)


def test_a_model_in_training_is_left_in_training() -> None:
    """Dropout must not reach a sampled token, nor sampling end the learner's mode."""
    mistral = MistralForCausalLM(
        MistralConfig(**SIZES, sliding_window=None, attention_dropout=0.5)
    ).train()
    sampler = LocalSampler(mistral, [], max_dialogues=1, max_tokens=50)
    first = sampler.sample([SampleRequest("a", [5, 6, 7], 10, 0)], temperature=1.0)
    again = sampler.sample([SampleRequest("b", [5, 6, 7], 10, 0)], temperature=1.0)
    assert first[0].logprobs == again[0].logprobs
    assert mistral.training


def test_the_mark_of_the_weights_follows_writes_and_replacements(
    own_model: PreTrainedModel,
) -> None:
    marks = [weights_mark(own_model), weights_mark(own_model)]
    assert marks[0] == marks[1]
    with torch.no_grad():
        next(own_model.parameters()).mul_(1.0)
    marks.append(weights_mark(own_model))
    own_model.load_state_dict(own_model.state_dict())
    marks.append(weights_mark(own_model))
    own_model.get_submodule("model.norm").weight = torch.nn.Parameter(torch.ones(32))
    marks.append(weights_mark(own_model))
    assert len(set(marks)) == 4
