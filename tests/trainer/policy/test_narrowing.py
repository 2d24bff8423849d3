"""In half precision a model keeps its rotary frequencies, so positions stay where they are."""

from __future__ import annotations

import torch

from trainer.policy.build import small_qwen3
from trainer.policy.narrowing import exact_buffers, hold_in


def model() -> torch.nn.Module:
    return small_qwen3(300, hidden=32, layers=1, heads=2, kv_heads=1, head_dim=16, ffn=48, seed=1)


def angle(one: torch.nn.Module, position: int) -> torch.Tensor:
    """Return the cosines by which a token at a position is turned."""
    return one.model.rotary_emb(torch.zeros(1), torch.tensor([[position]]))[0]  # type: ignore


def test_half_precision_moves_weights_and_leaves_far_positions_where_they_were():
    exact = angle(model(), 4000)
    rounded = model().to(torch.bfloat16)
    assert not torch.allclose(angle(rounded, 4000), exact, atol=0.1), "what would go wrong"
    held = model()
    hold_in(held, torch.bfloat16)
    assert {one.dtype for one in held.parameters()} == {torch.bfloat16}
    assert torch.equal(angle(held, 4000), exact)


def test_buffers_come_back_after_somebody_else_rounded_them():
    narrowed = model()
    exact = angle(narrowed, 4000)
    with exact_buffers(narrowed):
        narrowed.to(torch.bfloat16)
    assert {one.dtype for one in narrowed.parameters()} == {torch.bfloat16}
    assert torch.equal(angle(narrowed, 4000), exact)


def test_tied_weights_stay_tied():
    held = small_qwen3(300, hidden=32, layers=1, heads=2, kv_heads=1, head_dim=16, ffn=48, seed=1)
    hold_in(held, torch.bfloat16)
    assert held.lm_head.weight is held.model.embed_tokens.weight
