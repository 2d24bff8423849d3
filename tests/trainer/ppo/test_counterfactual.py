"""A turn scored without its feedback is what a plain pass over the altered dialogue gives."""

from __future__ import annotations

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from trainer.ppo import counterfactual
from trainer.ppo.batch import pack
from trainer.ppo.counterfactual import without_feedback
from trainer.ppo.forward import score_actions

SILENT = ((7, 8), (9, 9, 9), (4,))


def branching_batch(trajectory):
    """Three turns, one turn, two turns; silence shorter, longer and as long as the feedback."""
    return [
        trajectory(0, "oooaaooaooooaaa", masked_feedback=SILENT),
        trajectory(1, "oaaaa", masked_feedback=()),
        trajectory(2, "ooaoaaoo", masked_feedback=SILENT[:2]),
    ]


def gpt2() -> GPT2LMHeadModel:
    torch.manual_seed(3)
    shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 32, "n_positions": 64}
    return GPT2LMHeadModel(GPT2Config(**shape, attn_implementation="eager")).eval()  # type: ignore[arg-type]


def llama() -> LlamaForCausalLM:
    torch.manual_seed(3)
    config = LlamaConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=32,
        vocab_size=32,
        max_position_embeddings=64,
    )
    return LlamaForCausalLM(config).eval()


def plain_pass(model, trajectory, turn: int, temperature: float) -> list[float]:
    """Score one turn in the dialogue that never had the feedback before it."""
    places = [place for place, at in enumerate(trajectory.turn_ids) if at == turn]
    before = max(p for p, at in enumerate(trajectory.turn_ids) if 0 <= at < turn) + 1
    head = [*trajectory.ids[:before], *trajectory.masked_feedback[turn - 1]]
    words = [trajectory.ids[place] for place in places]
    with torch.no_grad():
        logits = model(torch.tensor([[*head, *words]])).logits[0].double() / temperature
    logprobs = logits.log_softmax(-1)
    return [float(logprobs[len(head) + k - 1, word]) for k, word in enumerate(words)]


@pytest.mark.parametrize("family", ["qwen3", "gpt2", "llama"])
@pytest.mark.parametrize("max_tokens", [1, 40, 8192])
def test_every_branch_equals_a_plain_pass_of_its_own(model, trajectory, family, max_tokens):
    actor = {"qwen3": lambda: model().eval(), "gpt2": gpt2, "llama": llama}[family]()
    batch = branching_batch(trajectory)
    found = without_feedback(pack(batch), actor, temperature=0.7, max_tokens=max_tokens)
    for row, one in enumerate(batch):
        for turn in range(max(one.turn_ids) + 1):
            places = [place for place, at in enumerate(one.turn_ids) if at == turn]
            assert found.scored_BT[row, places].tolist() == [turn > 0] * len(places)
            if turn:
                expected = plain_pass(actor, one, turn, 0.7)
                assert found.logprobs_BT[row, places].tolist() == pytest.approx(expected, abs=2e-5)
    assert bool((found.logprobs_BT[~found.scored_BT] == 0).all())


def test_feedback_in_its_own_place_changes_nothing(model, trajectory):
    """With the real feedback as its own placeholder the gain is 0."""
    actor = model().eval()
    one = trajectory(4, "oooaaooaooooaaa")
    real = ((*one.ids[5:7],), (*one.ids[8:12],))
    packed = pack([trajectory(4, "oooaaooaooooaaa", masked_feedback=real)])
    found = without_feedback(packed, actor, temperature=1.0, max_tokens=8192)
    with torch.no_grad():
        seen = score_actions(
            actor, packed.ids_BT, packed.position_ids_BT, packed.action_mask_BT, temperature=1.0
        )
    later = found.scored_BT[packed.action_mask_BT]
    gap = seen.logprobs_N[later] - found.logprobs_BT[found.scored_BT]
    assert float(gap.abs().max()) < 1e-5


def test_all_turns_of_a_batch_cost_one_pass(model, trajectory, monkeypatch):
    actor = model().eval()
    passes: list[tuple[int, int]] = []
    handle = actor.base_model.register_forward_pre_hook(
        lambda module, args, kwargs: passes.append(tuple(kwargs["input_ids"].shape)),
        with_kwargs=True,
    )
    batch = branching_batch(trajectory)
    without_feedback(pack(batch), actor, temperature=1.0, max_tokens=8192)
    handle.remove()
    ((rows, width),) = passes
    assert rows == 2, "a row without a second turn needs no pass"
    assert width <= 2 * max(len(one.ids) for one in batch)


def test_a_small_head_at_a_time_gives_the_same(model, trajectory, monkeypatch):
    actor, packed = model().eval(), pack(branching_batch(trajectory))
    whole = without_feedback(packed, actor, temperature=1.0, max_tokens=8192)
    monkeypatch.setattr(counterfactual, "MAX_LOGITS", 64)
    parts = without_feedback(packed, actor, temperature=1.0, max_tokens=8192)
    assert torch.allclose(whole.logprobs_BT, parts.logprobs_BT, atol=1e-6)


def test_a_batch_of_single_turns_needs_no_pass(model, trajectory):
    found = without_feedback(
        pack([trajectory(1, "oaaaa")]), model(), temperature=1.0, max_tokens=8192
    )
    assert not found.scored_BT.any()


def test_episodes_that_were_collected_without_a_placeholder_are_refused(model, trajectory):
    with pytest.raises(ValueError, match="row 0 has 2 turns and masked feedback after 0 of them"):
        without_feedback(pack([trajectory(0)]), model(), temperature=1.0, max_tokens=8192)


def test_an_attention_that_cannot_branch_is_refused(model, trajectory):
    actor = model()
    actor.config._attn_implementation = "flash_attention_2"
    with pytest.raises(ValueError, match="'flash_attention_2'; load it with attn_implementation"):
        without_feedback(pack(branching_batch(trajectory)), actor, temperature=1.0, max_tokens=8192)
