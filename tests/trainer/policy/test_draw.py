"""A draw follows the distribution, belongs to its seed, and never picks the impossible."""

from __future__ import annotations

import math

import pytest
import torch

from trainer.policy.draw import draw, uniforms

LOGITS = torch.tensor([[2.0, 0.0, -torch.inf, 1.0, -3.0]])


def test_a_row_of_chance_belongs_to_its_seed_alone() -> None:
    alone = uniforms([7], 50)
    among = uniforms([3, 7, 9], 80)
    assert torch.equal(alone[0], among[1, :50])
    assert not torch.equal(among[0], among[1])
    assert uniforms([2**63 - 1, 0], 4).shape == (2, 4)


def test_chance_is_uniform_below_one() -> None:
    numbers = uniforms(range(100), 1000)
    assert numbers.min() >= 0 and numbers.max() < 1
    counts = torch.histc(numbers, bins=20, min=0, max=1)
    expected = numbers.numel() / 20
    assert ((counts - expected) ** 2 / expected).sum() < 45.3  # 0.1% point of chi-square, 19 dof


def test_philox_words_are_the_same_for_ever() -> None:
    """A run resumed under another numpy must draw what it drew."""
    assert (uniforms([42], 3)[0] * 2**24).tolist() == [13760641, 3175014, 14556932]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_and_logprobs_are_those_of_the_tempered_softmax(temperature: float) -> None:
    chance = uniforms([1], 40_000)[0]
    tokens, logprobs = draw(
        LOGITS.expand(len(chance), -1), chance, temperature=temperature, greedy=False
    )
    weights = [math.exp(x / temperature) for x in LOGITS[0].tolist()]
    for token, weight in enumerate(weights):
        share = weight / sum(weights)
        found = (tokens == token).float().mean().item()
        assert found == pytest.approx(share, abs=4 * math.sqrt(share / len(chance)) + 1e-9)
        if share:
            assert logprobs[tokens == token].tolist() == pytest.approx(
                [math.log(share)] * int((tokens == token).sum()), abs=1e-5
            )


@pytest.mark.parametrize("number", [0.0, 1 - 2**-24])
def test_the_ends_of_the_interval_pick_possible_tokens(number: float) -> None:
    logits = torch.tensor([[-torch.inf, 0.0, 0.3, 0.1, -torch.inf]]).repeat(3, 1)
    tokens, logprobs = draw(logits, torch.full((3,), number), temperature=1.0, greedy=False)
    assert tokens.tolist() == [1 if number == 0 else 3] * 3
    assert torch.isfinite(logprobs).all()


def test_a_wide_vocabulary_never_runs_off_its_end() -> None:
    logits = torch.randn(8, 150_000, generator=torch.Generator().manual_seed(0))
    logits[:, -50_000:] = -torch.inf
    tokens, logprobs = draw(logits, torch.full((8,), 1 - 2**-24), temperature=1.0, greedy=False)
    assert (tokens < 100_000).all()
    assert torch.isfinite(logprobs).all()


def test_greedy_takes_the_likeliest_and_reports_the_tempered_logprob() -> None:
    tokens, logprobs = draw(LOGITS, torch.zeros(1), temperature=0.7, greedy=True)
    assert tokens.tolist() == [0]
    assert logprobs.tolist() == pytest.approx(torch.log_softmax(LOGITS / 0.7, -1)[:, 0].tolist())


def test_half_precision_logits_are_read_in_float32() -> None:
    tokens, logprobs = draw(LOGITS.bfloat16(), torch.zeros(1), temperature=1.0, greedy=True)
    assert logprobs.dtype is torch.float32
    assert logprobs.tolist() == pytest.approx(torch.log_softmax(LOGITS, -1)[0, tokens].tolist())
