"""An update through adapters changes nothing else, and is undone, saved and loaded as any other."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from transformers import Qwen3ForCausalLM

from tests.trainer.ppo.conftest import build_batch, build_model, build_trajectory
from trainer.policy import lora
from trainer.policy.lora_options import LoraOptions
from trainer.ppo.critic import critic_like
from trainer.ppo.learner import LearnConfig, LearnSettings
from trainer.ppo.torch_learner import TorchLearner
from trainer.ppo.weights import read_tensors

pytest.importorskip("peft", reason="needs peft: pip install -e '.[lora]'")

SETTINGS = LearnSettings(actor_lr=1e-2, critic_lr=1e-2, ppo_epochs=2)


def adapted_model(dtype: torch.dtype = torch.float32) -> Qwen3ForCausalLM:
    model = build_model()
    torch.nn.Module.to(model, dtype)
    lora.attach(model, LoraOptions(rank=3, alpha=6.0), seed=4)
    return model


def adapted_learner(dtype: torch.dtype = torch.float32, **changes: object) -> TorchLearner:
    model = adapted_model(dtype)
    config = LearnConfig(minibatch_dialogues=4, **changes)  # type: ignore[arg-type]
    return TorchLearner(model, config, seed=7, reference_model=lora.without_adapters(model))


def base_of(learner: TorchLearner) -> dict[str, torch.Tensor]:
    return {
        name: one.detach().clone()
        for name, one in learner.actor.named_parameters()
        if "lora_" not in name
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("again", [False, True])
def test_an_update_changes_every_adapter_and_no_weight_under_one(dtype, again):
    learner = adapted_learner(dtype, recompute_activations=again)
    before = base_of(learner)
    adapters = {n: p.detach().clone() for n, p in learner.actor.named_parameters() if "lora_" in n}
    for _ in range(2):
        learner.step(build_batch(), SETTINGS)
    after = base_of(learner)
    assert all(torch.equal(after[name], value) for name, value in before.items())
    for name, value in adapters.items():
        assert not torch.equal(learner.actor.get_parameter(name), value), name


def test_recomputed_activations_give_the_same_step():
    prints = set()
    for again in (False, True):
        learner = adapted_learner(recompute_activations=again)
        learner.step(build_batch(), SETTINGS)
        prints.add(learner.fingerprint())
    assert len(prints) == 1


def test_the_distance_to_the_frozen_base_is_exactly_zero_before_the_first_update():
    learner = adapted_learner()
    first = learner.step(build_batch(), replace(SETTINGS, actor_lr=0.0, kl_coeff=0.1))
    assert first.metrics["kl"] == 0.0
    learner.step(build_batch(), SETTINGS)
    assert learner.step(build_batch(), replace(SETTINGS, kl_coeff=0.1)).metrics["kl"] > 0.0


def test_actor_critic_and_reference_stand_on_one_copy_of_the_base():
    learner = adapted_learner()
    held = {one.data_ptr() for one in learner.actor.parameters()}
    critic = learner._trained["critic"].network
    shared = [one for one in critic.parameters() if one.data_ptr() in held]
    own = [one for one in critic.parameters() if one.data_ptr() not in held]
    assert shared and not any(one.requires_grad for one in shared)
    assert own and all(one.requires_grad for one in own)
    frozen = [one for one in learner.actor.parameters() if not one.requires_grad]
    assert len(shared) == len(frozen)
    reference = learner._reference
    assert reference is not None
    assert {one.data_ptr() for one in reference.parameters()} <= held


def test_what_is_kept_to_undo_an_update_and_to_step_holds_adapters_alone(tmp_path):
    learner = adapted_learner()
    learner.step(build_batch(), SETTINGS)
    for name, (weights, memory) in learner._snapshot().items():
        names = [*weights, *memory]
        assert names and all("lora_" in one or one.startswith("head.") for one in names), name
    learner.save(tmp_path / "saved")
    for part in ("actor", "critic", "actor_optimizer", "critic_optimizer"):
        found = read_tensors(tmp_path / "saved" / f"{part}.safetensors")
        assert all("lora_" in one or one.startswith("head.") for one in found), part
    gradients = [one for one in learner.actor.parameters() if one.grad is not None]
    assert gradients == []


def test_an_update_that_is_not_finite_is_undone():
    learner = adapted_learner()
    learner.step(build_batch(), SETTINGS)
    before = learner.fingerprint()
    with pytest.raises(FloatingPointError):
        learner.step(build_batch(), replace(SETTINGS, actor_lr=float("nan")))
    assert learner.fingerprint() == before


def test_a_learner_that_was_saved_goes_on_bit_for_bit(tmp_path):
    unbroken = adapted_learner()
    for version in range(4):
        if version == 2:
            unbroken.save(tmp_path / "saved")
        unbroken.step(build_batch(first=version), SETTINGS)
    resumed = adapted_learner()
    resumed.load(tmp_path / "saved")
    for version in (2, 3):
        resumed.step(build_batch(first=version), SETTINGS)
    assert resumed.fingerprint() == unbroken.fingerprint()


def test_a_checkpoint_of_a_whole_model_is_no_checkpoint_of_adapters(tmp_path):
    whole = TorchLearner(build_model(), LearnConfig(), seed=7)
    whole.save(tmp_path / "whole")
    with pytest.raises(ValueError, match=r"belongs to another model|does not have"):
        adapted_learner().load(tmp_path / "whole")


def test_adapters_alone_make_a_rewarded_action_likelier_than_one_that_is_not():
    learner = adapted_learner()
    prompt, good, bad = [1, 2, 3], 5, 9
    batch = [
        build_trajectory(number, "oooa", ids=[*prompt, token], reward=float(token == good))
        for number, token in enumerate([good, bad] * 4)
    ]

    def preference() -> float:
        with torch.no_grad():
            logits = learner.actor(input_ids=torch.tensor([prompt])).logits[0, -1]
        return float(logits[good] - logits[bad])

    before = preference()
    for _ in range(8):
        learner.step(batch, SETTINGS)
    # The frozen head bounds what is to be had: its rows are short.
    assert preference() > before + 0.1


def test_the_gradient_of_an_adapter_is_the_chain_rule():
    """For y = (W + s B A) x: dL/dB = s g (A x)^T and dL/dA = s B^T g x^T, with g = dL/dy."""
    model = adapted_model().double()
    layer = model.get_submodule("model.layers.1.mlp.down_proj")
    chance = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for one in model.parameters():
            if one.requires_grad:
                one.add_(0.1 * torch.randn(one.shape, generator=chance, dtype=torch.float64))
    seen: dict[str, torch.Tensor] = {}

    def note(_: object, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        seen["x"], seen["y"] = inputs[0].detach(), output
        output.retain_grad()

    layer.register_forward_hook(note)
    ids = torch.tensor([[3, 9, 4, 1]])
    torch.log_softmax(model(input_ids=ids).logits, -1)[0, -1, 5].backward()
    a, b = (getattr(layer, half)["default"].weight for half in ("lora_A", "lora_B"))
    assert seen["y"].grad is not None
    g, x = seen["y"].grad[0], seen["x"][0]
    scale = 6.0 / 3
    torch.testing.assert_close(b.grad, scale * g.T @ (x @ a.T))
    torch.testing.assert_close(a.grad, scale * (b.T @ g.T) @ x)


def test_the_critic_of_a_frozen_model_starts_at_zero_and_learns_by_adapters_and_head():
    critic = critic_like(adapted_model())
    ids = torch.tensor([[3, 9, 4, 1]])
    assert not critic(ids, torch.arange(4)[None]).any()
    learns = {name for name, one in critic.named_parameters() if one.requires_grad}
    assert {"head.weight", "head.bias"} <= learns
    assert all("lora_" in name or name.startswith("head.") for name in learns)
    assert critic.head.weight.dtype == torch.float32
