"""Entropy, KL and the gap to the sampler: hand-computed values, and the gradients that matter."""

from __future__ import annotations

import math

import pytest
import torch

from trainer.ppo import kl
from trainer.ppo.entropy import chosen_logprobs, entropy, tempered
from trainer.ppo.importance import mismatch, mismatch_k3, truncated_weights

LOGITS = torch.tensor([[2.0, 1.0, 0.0]])


@pytest.mark.parametrize(("temperature", "nats"), [(1.0, 0.832396), (0.5, 0.441057)])
def test_oracle_e1_entropy_belongs_to_the_policy_that_samples(temperature, nats):
    assert entropy(tempered(LOGITS, temperature)).item() == pytest.approx(nats, abs=1e-6)


@pytest.mark.parametrize(
    ("temperature", "logprobs"),
    [(1.0, [-0.407606, -1.407606, -2.407606]), (0.5, [-0.142932, -2.142932, -4.142932])],
)
def test_logprobs_are_tempered_before_the_softmax(temperature, logprobs):
    rows = tempered(LOGITS, temperature).expand(3, 3)
    found = chosen_logprobs(rows, torch.arange(3))
    assert found.tolist() == pytest.approx(logprobs, abs=1e-6)


def test_half_precision_logits_are_scored_in_float32():
    assert tempered(LOGITS.bfloat16(), 1.0).dtype is torch.float32
    assert tempered(LOGITS.double(), 1.0).dtype is torch.float64


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan")])
def test_a_temperature_that_cannot_be_trained_at_is_refused(temperature):
    with pytest.raises(ValueError, match="above 0"):
        tempered(LOGITS, temperature)


def test_oracle_k1_three_estimators_of_one_token():
    new, reference = torch.tensor([math.log(0.5)]), torch.tensor([math.log(0.25)])
    assert kl.k1(new, reference).item() == pytest.approx(0.693147, abs=1e-6)
    assert kl.k2(new, reference).item() == pytest.approx(0.240227, abs=1e-6)
    assert kl.k3(new, reference).item() == pytest.approx(0.193147, abs=1e-6)


def test_oracle_k1_expectations_over_a_coin():
    new = torch.tensor([0.5, 0.5], dtype=torch.float64)
    reference = torch.tensor([0.25, 0.75], dtype=torch.float64)
    expected = {"k1": 0.143841, "k2": 0.161214, "k3": 0.143841}
    for name, value in expected.items():
        mean = (new * getattr(kl, name)(new.log(), reference.log())).sum().item()
        assert mean == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(("name", "gradient"), [("k1", 0.0), ("k2", 0.274653), ("k3", 0.25)])
def test_oracle_k1_only_k2_has_the_gradient_of_the_divergence_as_a_loss(name, gradient):
    logit = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    logprobs = torch.cat(
        [torch.nn.functional.logsigmoid(logit), torch.nn.functional.logsigmoid(-logit)]
    )
    reference = torch.tensor([0.25, 0.75], dtype=torch.float64).log()
    # The expectation over sampled tokens: their probabilities are no function of the parameters.
    loss = (torch.tensor([0.5, 0.5]) * getattr(kl, name)(logprobs, reference)).sum()
    loss.backward()
    assert logit.grad is not None
    assert logit.grad.item() == pytest.approx(gradient, abs=1e-6)


def test_oracle_i1_truncated_weights_and_mismatch():
    old = torch.tensor([0.5, 0.2, 0.9]).double().log()
    sampled = torch.tensor([0.4, 0.05, 0.9]).double().log()
    assert truncated_weights(old, sampled, cap=2.0).tolist() == pytest.approx([1.25, 2.0, 1.0])
    k3 = mismatch_k3(old, sampled)
    assert k3.tolist() == pytest.approx([0.026856, 1.613706, 0.0], abs=1e-6)
    found = mismatch(old, sampled)
    assert found["sampler_k3"] == pytest.approx(0.546854, abs=1e-6)
    assert found["sampler_chi2"] == pytest.approx((1.5625 + 16.0 + 1.0) / 3 - 1.0, abs=1e-6)
    assert found["sampler_logprob_gap_max"] == pytest.approx(math.log(4.0), abs=1e-6)


def test_no_cap_trusts_the_sampler():
    assert truncated_weights(torch.tensor([-1.0]), torch.tensor([-9.0]), cap=None).tolist() == [1.0]


def test_the_weights_carry_no_gradient():
    old = torch.tensor([-1.0], requires_grad=True)
    assert not truncated_weights(old, torch.tensor([-1.5]), cap=2.0).requires_grad


def test_a_masked_position_that_stores_zero_on_both_sides_has_weight_one():
    assert truncated_weights(torch.zeros(1), torch.zeros(1), cap=2.0).item() == 1.0
    stored_one = truncated_weights(torch.zeros(1), torch.ones(1), cap=2.0).item()
    assert stored_one == pytest.approx(0.3679, abs=1e-4)
