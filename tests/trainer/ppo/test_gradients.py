"""The gradient of the whole loss is the one that finite differences see."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from trainer.ppo.batch import micro_batches, pack
from trainer.ppo.critic import critic_like
from trainer.ppo.lessons import Lessons
from trainer.ppo.objective import ActorTerms, actor_loss, critic_loss

TERMS = ActorTerms(
    clip_low=0.2,
    clip_high=0.28,
    dual_clip=3.0,
    entropy_coeff=0.02,
    kl_loss_coeff=0.0,
    temperature=0.8,
)


def float64_model() -> GPT2LMHeadModel:
    """Return a two-layer model that computes in float64 throughout."""
    torch.manual_seed(0)
    return (
        GPT2LMHeadModel(
            GPT2Config(
                n_embd=8,
                n_layer=2,
                n_head=2,
                vocab_size=32,
                n_positions=32,
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
            )
        )
        .double()
        .eval()
    )


def lessons_for(batch) -> Lessons:
    """Return lessons whose ratios lie on every side of the clip range, off its edges."""
    packed = pack(batch)
    acts = packed.action_mask_BT
    chance = torch.Generator().manual_seed(1)

    def draw(scale: float, centre: float = 0.0) -> torch.Tensor:
        noise = torch.randn(acts.shape, generator=chance, dtype=torch.float64)
        return torch.where(acts, centre + scale * noise, 0.0)

    return Lessons(
        ids_BT=packed.ids_BT,
        position_ids_BT=packed.position_ids_BT,
        action_mask_BT=acts,
        lengths_B=packed.lengths_B,
        old_logprobs_BT=draw(0.5, -3.4),
        advantages_BT=draw(1.0),
        weights_BT=draw(0.1, 1.0),
        actor_mask_BT=acts,
        reference_logprobs_BT=draw(0.5, -3.4),
        old_values_BT=draw(0.3),
        returns_BT=draw(1.0),
    )


def assert_gradient(module: torch.nn.Module, loss_of, *, step: float = 1e-6) -> None:
    """Compare autograd with central differences along a few random directions."""
    loss_of().backward()
    parameters = [parameter for parameter in module.parameters() if parameter.grad is not None]
    chance = torch.Generator().manual_seed(4)
    for _ in range(3):
        directions = [
            torch.randn(parameter.shape, generator=chance, dtype=torch.float64)
            for parameter in parameters
        ]
        slope = sum(
            float((parameter.grad * direction).sum())
            for parameter, direction in zip(parameters, directions, strict=True)
            if parameter.grad is not None
        )
        ends = []
        with torch.no_grad():
            for sign in (1.0, -2.0, 1.0):
                for parameter, direction in zip(parameters, directions, strict=True):
                    parameter.add_(direction, alpha=sign * step)
                ends.append(float(loss_of()))
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-8)
        assert abs(slope) > 1e-6


def test_the_actors_whole_loss_against_finite_differences(batch):
    actor, lessons = float64_model(), lessons_for(batch())

    def loss() -> torch.Tensor:
        return actor_loss(actor, lessons, TERMS, total_actions=lessons.num_actions)[0]

    assert_gradient(actor, loss)


def test_the_k2_penalty_in_the_loss_has_the_weighted_gradient(batch):
    actor, lessons = float64_model(), lessons_for(batch())
    terms = replace(TERMS, kl_loss_coeff=0.1, entropy_coeff=0.0)
    total = lessons.num_actions
    with torch.no_grad():
        frozen = _logprobs(actor, lessons)
    ratio = (frozen - lessons.old_logprobs_BT[lessons.action_mask_BT]).exp()
    reference_BT = lessons.reference_logprobs_BT
    assert reference_BT is not None
    reference = reference_BT[lessons.action_mask_BT]
    # The ratio is a constant of this term, so only the squared drift varies.
    penalty = (ratio * 0.5 * (_logprobs(actor, lessons) - reference).square()).sum() / total
    with_penalty = actor_loss(actor, lessons, terms, total_actions=total)[0]
    without = actor_loss(actor, lessons, replace(terms, kl_loss_coeff=0.0), total_actions=total)[0]
    assert (with_penalty - without).item() == pytest.approx(0.1 * penalty.item())
    difference = torch.autograd.grad(with_penalty - without, list(actor.parameters()))
    expected = torch.autograd.grad(0.1 * penalty, list(actor.parameters()))
    for one, other in zip(difference, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


def _logprobs(actor: GPT2LMHeadModel, lessons: Lessons) -> torch.Tensor:
    """Score the action tokens by a plain pass."""
    logits = actor(input_ids=lessons.ids_BT).logits[:, :-1] / TERMS.temperature
    chosen = logits.log_softmax(-1).gather(-1, lessons.ids_BT[:, 1:, None]).squeeze(-1)
    return chosen[lessons.action_mask_BT[:, 1:]]


@pytest.mark.parametrize("value_clip", [0.2, None])
def test_the_critics_whole_loss_against_finite_differences(batch, value_clip):
    critic, lessons = critic_like(float64_model()), lessons_for(batch())
    torch.manual_seed(2)
    torch.nn.init.normal_(critic.head.weight)

    def loss() -> torch.Tensor:
        return critic_loss(
            critic, lessons, value_clip=value_clip, total_actions=lessons.num_actions
        )[0]

    assert_gradient(critic, loss)


@pytest.mark.parametrize("max_tokens", [1, 24, 40])
def test_oracle_p2_passes_of_any_size_add_up_to_the_gradient_of_the_whole(batch, max_tokens):
    actor, lessons = float64_model(), lessons_for(batch())
    actor_loss(actor, lessons, TERMS, total_actions=lessons.num_actions)[0].backward()
    whole = [parameter.grad for parameter in actor.parameters()]
    actor.zero_grad(set_to_none=True)
    for rows in micro_batches(lessons.lengths_B, max_tokens=max_tokens):
        part = lessons.rows(rows)
        actor_loss(actor, part, TERMS, total_actions=lessons.num_actions)[0].backward()
    for expected, parameter in zip(whole, actor.parameters(), strict=True):
        assert expected is not None
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, expected, rtol=1e-9, atol=1e-12)
