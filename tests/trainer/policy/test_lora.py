"""Adapters add nothing at first, are sampled with as they are learnt, and merge into the same."""

from __future__ import annotations

import random

import pytest
import torch
from transformers import AutoModelForCausalLM, GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedModel

from trainer.policy import lora
from trainer.policy.build import small_qwen3
from trainer.policy.forward import choose_decoder
from trainer.policy.generic import ModelDecoder
from trainer.policy.llama import LlamaDecoder
from trainer.policy.local import LocalSampler
from trainer.policy.lora_options import LoraOptions, lora_faults
from trainer.policy.sampler import SampleRequest
from trainer.policy.sglang_agreement import coarse_digest, learner_logprobs
from trainer.policy.sglang_weights import DiskWay, buckets

peft = pytest.importorskip("peft", reason="needs peft: pip install -e '.[lora]'")

OPTIONS = LoraOptions(rank=4, alpha=8.0)
VOCAB = 300
WIDTHS = (32, 1056)
"""Hidden sizes on both sides of `llama.JOIN_UP_TO`."""


def qwen3(hidden: int = 32, seed: int = 1) -> PreTrainedModel:
    return small_qwen3(
        VOCAB,
        hidden=hidden,
        layers=2,
        heads=2,
        kv_heads=1,
        head_dim=16,
        ffn=48,
        init_std=0.1,
        seed=seed,
    )


def gpt_neox() -> PreTrainedModel:
    """A model off the family of the hand-written pass."""
    torch.manual_seed(5)
    config = GPTNeoXConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=256,
    )
    return GPTNeoXForCausalLM(config).eval()


def trained(model: PreTrainedModel, options: LoraOptions = OPTIONS) -> PreTrainedModel:
    """Put adapters on a model and move them away from zero, as training would."""
    lora.attach(model, options, seed=2)
    chance = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.2 * torch.randn(parameter.shape, generator=chance))
    return model


def logits(model: PreTrainedModel) -> torch.Tensor:
    ids = torch.tensor([[5, 17, 203, 8, 8, 99]])
    with torch.no_grad():
        return model(input_ids=ids).logits


@pytest.mark.parametrize("make", [qwen3, gpt_neox])
def test_a_model_with_new_adapters_computes_the_same_bit_for_bit(make):
    model = make()
    before = logits(model)
    lora.attach(model, OPTIONS, seed=2)
    assert torch.equal(logits(model), before)
    learns = [name for name, one in model.named_parameters() if one.requires_grad]
    assert learns and all("lora_" in name for name in learns)


def test_the_seed_decides_where_adapters_start_and_leaves_the_global_chance_alone():
    state = torch.get_rng_state()
    models = [qwen3() for _ in range(3)]
    for model, seed in zip(models, (4, 4, 5), strict=True):
        lora.attach(model, OPTIONS, seed=seed)
    first, same, other = (
        model.get_parameter("model.layers.0.mlp.up_proj.lora_A.default.weight") for model in models
    )
    assert torch.equal(first, same) and not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("hidden", WIDTHS)
@pytest.mark.parametrize(
    "targets", [("all-linear",), ("q_proj", "v_proj", "up_proj"), ("down_proj", "o_proj")]
)
def test_the_hand_written_pass_reads_the_adapters_and_not_the_base(hidden, targets):
    model = trained(qwen3(hidden), LoraOptions(rank=4, alpha=8.0, targets=targets))
    # The decoder is tried on probes against the model as it is made, and refused beyond 1e-3.
    decoder = choose_decoder(model, max_tokens=128)
    assert isinstance(decoder, LlamaDecoder)
    gap = (logits(model) - logits(lora.without_adapters(model))).abs().max()
    assert gap > 0.05, "a decoder that reads the base would pass for right"


@pytest.mark.parametrize("make", [qwen3, gpt_neox])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_sampled_logprobs_are_the_learners(make, dtype):
    model = trained(make().to(dtype))
    sampler = LocalSampler(model, {2}, max_dialogues=4, max_tokens=128)
    chance = random.Random(1)
    prompts = [[chance.randrange(50, VOCAB) for _ in range(5 + 3 * i)] for i in range(3)]
    requests = [SampleRequest(f"d{i}", ids, 10, seed=i) for i, ids in enumerate(prompts)]
    for ids, one in zip(prompts, sampler.sample(requests, temperature=0.7), strict=True):
        with torch.no_grad():
            ours = learner_logprobs(model, ids, one.ids, temperature=0.7)
        bound = 1e-5 if dtype == torch.float32 else 0.1
        assert list(one.logprobs) == pytest.approx(ours.tolist(), abs=bound)


def test_other_models_decode_by_their_own_forward_with_adapters():
    assert isinstance(choose_decoder(trained(gpt_neox()), max_tokens=128), ModelDecoder)


def test_the_model_without_adapters_shares_its_weights_and_computes_as_the_base():
    plain = logits(qwen3())
    model = trained(qwen3())
    bare = lora.without_adapters(model)
    assert torch.equal(logits(bare), plain)
    assert lora.adapted(model) and not lora.adapted(bare)
    held = {one.data_ptr() for one in model.parameters()}
    assert {one.data_ptr() for one in bare.parameters()} <= held
    # What moves or rounds one of the two moves both: no second copy can come about.
    torch.nn.Module.to(model, torch.bfloat16)
    assert {one.dtype for one in bare.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize("make", [qwen3, gpt_neox])
def test_the_merged_model_computes_what_the_adapted_one_does_and_shares_nothing(make):
    model = trained(make())
    whole = lora.merged(model)
    torch.testing.assert_close(logits(whole), logits(model), rtol=1e-4, atol=1e-5)
    assert not {one.data_ptr() for one in whole.parameters()} & {
        one.data_ptr() for one in model.parameters()
    }
    assert type(whole) is type(model) and all(one.requires_grad for one in whole.parameters())


def test_servers_get_plain_names_and_merged_weights(tmp_path):
    model = trained(qwen3())
    sent = {name: tensor for bucket in buckets(model, most=4096) for name, tensor in bucket}
    whole = lora.merged(model)
    assert sent.keys() == {name for name, _ in qwen3().named_parameters()}
    for name, parameter in whole.named_parameters():
        assert torch.equal(sent[name], parameter), name
    written = DiskWay(tmp_path).write(model, "one")
    loaded = AutoModelForCausalLM.from_pretrained(written, dtype=torch.float32)
    torch.testing.assert_close(logits(loaded), logits(model), rtol=1e-4, atol=1e-5)


def test_the_digest_of_a_server_moves_only_where_merged_weights_move():
    model = qwen3()
    before = coarse_digest(model)
    lora.attach(model, OPTIONS, seed=2)
    assert coarse_digest(model) == before, "adapters that add nothing change no server"
    layer = model.get_submodule("model.layers.1.mlp.up_proj")
    with torch.no_grad():
        layer.lora_B["default"].weight.fill_(0.3)  # type: ignore[union-attr]
    assert coarse_digest(model) != before


# peft asks a question of the model that transformers has renamed.
@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_peft_itself_loads_the_adapter_that_is_written(tmp_path):
    model = trained(qwen3())
    lora.write_adapter(model, tmp_path, base="models/base")
    loaded = peft.PeftModel.from_pretrained(qwen3(), tmp_path)
    with torch.no_grad():
        found = loaded(input_ids=torch.tensor([[5, 17, 203, 8, 8, 99]])).logits
    torch.testing.assert_close(found, logits(model), rtol=1e-5, atol=1e-6)
    assert loaded.peft_config["default"].base_model_name_or_path == "models/base"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rank": 0}, "rank is 0"),
        ({"alpha": 0.0}, "alpha is 0"),
        ({"targets": ()}, "names no layer"),
        ({"targets": ("lm_head",)}, "lm_head, which has no adapter here"),
    ],
)
def test_options_that_cannot_be_used_are_told(changes, told):
    with pytest.raises(ValueError, match=told):
        LoraOptions(**changes)


def test_layers_that_are_not_there_are_told():
    with pytest.raises(ValueError, match="not found in the base model"):
        lora.attach(qwen3(), LoraOptions(targets=("query",)), seed=0)


@pytest.mark.parametrize(
    ("changes", "stage", "told"),
    [
        ({}, 3, "set deepspeed.zero_stage to 2"),
        ({"base_dtype": "bfloat16"}, 2, "set deepspeed.dtype"),
    ],
)
def test_what_ranks_cannot_do_with_adapters_is_told_before_a_run(changes, stage, told):
    (fault,) = lora_faults(LoraOptions(**changes), backend="deepspeed", zero_stage=stage)
    assert told in fault
    assert list(lora_faults(LoraOptions(), backend="deepspeed", zero_stage=2)) == []
    assert list(lora_faults(LoraOptions(), backend="torch", zero_stage=3)) == []
