"""A model's numbers follow from its config.json, to the last one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

from trainer import model_shape
from trainer.model_shape import KNOWN, ModelShape

SIZES: dict[str, Any] = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


@pytest.mark.parametrize("tied", [True, False])
def test_it_counts_what_transformers_builds(tied: bool, tmp_path: Path) -> None:
    for model in (
        Qwen3ForCausalLM(Qwen3Config(**SIZES, head_dim=16, tie_word_embeddings=tied)),
        Qwen2ForCausalLM(Qwen2Config(**SIZES, tie_word_embeddings=tied)),
    ):
        model.config.save_pretrained(tmp_path)
        shape = model_shape.read(tmp_path)
        assert shape is not None
        assert shape.parameters == sum(p.numel() for p in model.parameters())
        assert shape.body == sum(p.numel() for p in model.model.parameters())


@pytest.mark.parametrize(
    ("name", "parameters", "kept"),
    [("qwen3-4b", 4_022_468_096, 73_728), ("qwen2.5-7b", 7_615_616_512, 28_672)],
)
def test_the_papers_models_have_the_numbers_that_their_makers_state(
    name: str, parameters: int, kept: int
) -> None:
    assert (KNOWN[name].parameters, KNOWN[name].kept_per_token) == (parameters, kept)


def test_a_model_that_is_not_there_yet_is_known_by_its_folder(tmp_path: Path) -> None:
    assert model_shape.read(tmp_path / "Qwen3-4B-Instruct-2507") == KNOWN["qwen3-4b"]
    assert model_shape.read(tmp_path / "Qwen2.5-7B-Instruct") == KNOWN["qwen2.5-7b"]
    assert model_shape.read(tmp_path / "Other-4B") is None


@pytest.mark.parametrize("config", [[], {}, {"hidden_size": "wide"}, {**SIZES, "vocab_size": None}])
def test_a_config_that_says_too_little_has_no_shape(config: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert model_shape.read(tmp_path) is None


def test_a_critic_has_no_vocabulary_to_score() -> None:
    shape = ModelShape(100, 8, 1, 2, 1, 4, 16, tied=False)
    assert shape.critic == shape.parameters - 100 * 8 + 8 + 1
