"""Scoring action tokens alone gives the numbers of a whole forward pass."""

from __future__ import annotations

import pytest
import torch
from transformers import Gemma2Config, Gemma2ForCausalLM, Qwen3Config, Qwen3Model

from trainer.ppo.batch import pack
from trainer.ppo.forward import check_head, head_of, score_actions


def whole(actor, ids, *, temperature):
    """Log-probabilities and entropies of every token after the first, from one plain pass."""
    logits = actor(input_ids=ids).logits[:, :-1].float() / temperature
    logprobs = logits.log_softmax(-1)
    chosen = logprobs.gather(-1, ids[:, 1:, None]).squeeze(-1)
    return chosen, -(logprobs.exp() * logprobs).sum(-1)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
@pytest.mark.parametrize("max_logits", [1, 100, 2**24])
def test_scores_equal_those_of_the_whole_model_row_by_row(model, batch, temperature, max_logits):
    actor, trajectories = model(), batch()
    packed = pack(trajectories)
    found = score_actions(
        actor,
        packed.ids_BT,
        packed.position_ids_BT,
        packed.action_mask_BT,
        temperature=temperature,
        max_logits=max_logits,
    )
    logprobs, entropies = [], []
    for trajectory in trajectories:
        chosen, spread = whole(actor, torch.tensor([trajectory.ids]), temperature=temperature)
        acts = torch.tensor([trajectory.action_mask])[:, 1:]
        logprobs.append(chosen[acts])
        entropies.append(spread[acts])
    assert torch.allclose(found.logprobs_N, torch.cat(logprobs), atol=1e-5)
    assert torch.allclose(found.entropies_N, torch.cat(entropies), atol=1e-5)


def test_padding_by_seven_changes_no_logprob(model, trajectory):
    actor, packed = model(), pack([trajectory(0, "ooaaooaa")])
    padded = pack([trajectory(0, "ooaaooaa"), trajectory(1, "ooaaooaaooooooa")])
    alone = score_actions(
        actor, packed.ids_BT, packed.position_ids_BT, packed.action_mask_BT, temperature=1.0
    )
    beside = score_actions(
        actor, padded.ids_BT, padded.position_ids_BT, padded.action_mask_BT, temperature=1.0
    )
    assert torch.allclose(alone.logprobs_N, beside.logprobs_N[:4], atol=1e-5)


def test_chunks_give_the_gradient_of_the_whole(model, batch):
    packed = pack(batch())
    gradients = []
    for max_logits in (2**24, 100):
        actor = model()
        found = score_actions(
            actor,
            packed.ids_BT,
            packed.position_ids_BT,
            packed.action_mask_BT,
            temperature=0.7,
            differentiable_entropy=True,
            max_logits=max_logits,
        )
        (found.logprobs_N.sum() + 0.3 * found.entropies_N.sum()).backward()
        gradients.append([parameter.grad for parameter in actor.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_an_entropy_nobody_learns_from_carries_no_gradient(model, batch):
    packed = pack(batch())
    found = score_actions(
        model(), packed.ids_BT, packed.position_ids_BT, packed.action_mask_BT, temperature=1.0
    )
    assert not found.entropies_N.requires_grad
    assert found.logprobs_N.requires_grad


def test_a_model_that_caps_its_logits_is_refused():
    torch.manual_seed(0)
    capped = Gemma2ForCausalLM(
        Gemma2Config(
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            intermediate_size=16,
            vocab_size=32,
            final_logit_softcapping=0.01,
        )
    )
    with pytest.raises(ValueError, match="more to its logits than a linear head"):
        check_head(capped)


def test_a_model_without_a_head_is_refused():
    bare = Qwen3Model(
        Qwen3Config(hidden_size=16, num_hidden_layers=1, intermediate_size=16, vocab_size=32)
    )
    with pytest.raises(ValueError, match="no linear language-model head"):
        head_of(bare)
