"""An export is a model that loads elsewhere with the checkpoint's weights, or is not there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from gate.contract.paths import RunPaths
from trainer import assembly, checkpoint, export
from trainer.checkpoint import CheckpointError, Snapshot
from trainer.policy import build, skeleton, tokenizer
from trainer.ppo.learner import LearnConfig
from trainer.ppo.torch_learner import TorchLearner


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    """Make a run with one checkpoint of a small policy."""
    tokens = tokenizer.train_tokenizer(["where to?", "to the sea"], vocab_size=300)
    model = build.small_qwen3(
        len(tokens), hidden=32, layers=1, heads=2, kv_heads=1, head_dim=16, ffn=64, seed=3
    )
    policy = build.assemble(model, tokens, name="small-test")
    paths = RunPaths(tmp_path / "runs" / "one")
    checkpoint.save(
        paths.checkpoint(2),
        Snapshot(step=2),
        {
            assembly.LEARNER_PART: TorchLearner(model, LearnConfig(), seed=1).save,
            assembly.POLICY_PART: lambda folder: skeleton.save(policy, folder),
        },
    )
    return paths


def test_the_export_loads_with_the_weights_and_words_of_the_checkpoint(run, tmp_path):
    used = export.export(run, tmp_path / "out", dtype="float32")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype=torch.float32)
    kept = assembly.policy_of(used)
    assert used == run.checkpoint(2)
    for name, value in kept.model.state_dict().items():
        assert torch.equal(model.state_dict()[name], value), name
    words = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert words.encode("to the sea") == kept.tokenizer.encode("to the sea")
    assert words.chat_template == kept.tokenizer.chat_template


def test_a_run_can_begin_with_an_export(run, tmp_path):
    export.export(run, tmp_path / "out", dtype="bfloat16")
    policy = build.load(tmp_path / "out", torch.float32)
    assert policy.chat.stop_ids == assembly.policy_of(run.checkpoint(2)).chat.stop_ids


def test_a_directory_that_holds_something_is_left_alone(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep me", "utf-8")
    with pytest.raises(export.ExportError, match="holds something"):
        export.export(run, tmp_path / "out", dtype="float32")
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_checkpoint_that_is_not_there_is_named(run, tmp_path):
    with pytest.raises(CheckpointError, match="step-000009"):
        export.export(run, tmp_path / "out", step=9, dtype="float32")
    assert not (tmp_path / "out").exists()
