"""Agreement is a number with a bound, and a digest moves when a served weight may have moved."""

from __future__ import annotations

import math

import pytest
import torch

from tests.trainer.policy.bigram import Bigram, as_pretrained, update
from trainer.policy.build import small_qwen3
from trainer.policy.sglang_agreement import (
    BOUNDS,
    Agreement,
    SamplerDisagrees,
    bound_of,
    coarse_digest,
    compare,
    judge,
    learner_logprobs,
)
from trainer.policy.sglang_config import SamplerConfig
from trainer.policy.sglang_weights import buckets


def test_the_learners_log_probabilities_are_those_of_each_token_given_all_before_it() -> None:
    model = Bigram()
    found = learner_logprobs(as_pretrained(model), [4, 7], [2, 9], temperature=0.5)
    rows = torch.log_softmax(model.table.detach() / 0.5, -1)
    assert torch.allclose(found, torch.stack([rows[7, 2], rows[2, 9]]))


def test_a_transformers_model_gives_the_same_with_and_without_its_first_logits() -> None:
    model = small_qwen3(64, hidden=32, layers=1, head_dim=16, ffn=32, max_positions=64, seed=0)
    ids = [(5 * place + 1) % 64 for place in range(20)]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0, 11:-1]
    whole = torch.log_softmax(logits, -1).gather(1, torch.tensor(ids[12:])[:, None])[:, 0]
    found = learner_logprobs(model, ids[:12], ids[12:], temperature=1.0)
    assert torch.allclose(found, whole, atol=1e-6)


def test_mean_and_most_are_over_all_tokens_of_all_answers() -> None:
    found = compare([torch.tensor([-1.0, -2.0]), torch.tensor([-3.0])], [[-1.5, -2.0], [-2.0]])
    assert (found.mean, found.most, found.num_tokens) == (0.5, 1.0, 3)


@pytest.mark.parametrize("found", [Agreement(0.2, 0.2, 4), Agreement(0.05, 0.6, 4)])
def test_either_number_over_its_bound_is_refused_with_both(found: Agreement) -> None:
    with pytest.raises(SamplerDisagrees, match=r"0\.09 and 0\.5 are allowed"):
        judge(found, BOUNDS[torch.bfloat16], url="http://a", stamp="run-3")


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(SamplerDisagrees):
        judge(Agreement(math.nan, math.nan, 1), BOUNDS[torch.float32], url="http://a", stamp="1")


def test_a_stated_bound_replaces_that_of_the_type() -> None:
    model = as_pretrained(Bigram())
    assert bound_of(model, "float32", mean=None, most=None) == BOUNDS[torch.float32]
    assert bound_of(model, "float32", mean=0.5, most=None) == (0.5, BOUNDS[torch.float32].most)


@pytest.mark.parametrize(
    ("served", "kind"),
    [("bfloat16", torch.bfloat16), ("half", torch.float16), ("auto", torch.float16)],
)
def test_the_coarser_type_of_both_sides_decides(served: str, kind: torch.dtype) -> None:
    found = bound_of(as_pretrained(Bigram()), served, mean=None, most=None)
    assert found == BOUNDS[kind]


def test_a_digest_moves_with_the_weights_and_not_with_what_no_server_can_hold() -> None:
    model = Bigram()
    before = coarse_digest(as_pretrained(model))
    with torch.no_grad():
        model.table.mul_(1 + 1e-7)
    assert coarse_digest(as_pretrained(model)) == before
    update(model)
    assert coarse_digest(as_pretrained(model)) != before


def test_weights_travel_once_each_in_buckets_of_bounded_size() -> None:
    model = small_qwen3(64, hidden=32, layers=1, head_dim=16, ffn=32, max_positions=64, seed=0)
    filled = list(buckets(model, most=10_000))
    sizes = [sum(t.numel() * t.element_size() for _, t in bucket) for bucket in filled]
    assert len(filled) > 1
    assert all(size <= 10_000 or len(b) == 1 for size, b in zip(sizes, filled, strict=True))
    sent = [name for bucket in filled for name, _ in bucket]
    assert sent == [name for name, _ in model.named_parameters()]
    assert "lm_head.weight" not in sent, "it is tied to the embedding"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"urls": ("ftp://a:1",)}, "must be http"),
        ({"urls": ("http://a:1", "http://a:1")}, "stands there twice"),
        ({"deadline_s": 0.0}, "sampler.deadline_s is 0.0"),
    ],
)
def test_a_section_that_cannot_work_is_refused(settings: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        SamplerConfig(**settings)  # pyright: ignore[reportArgumentType]
