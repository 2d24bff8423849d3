"""The script for a GPU runs to its end at a tiny size, says so where there is none, and is fast."""

from __future__ import annotations

import json
import math

import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

from trainer import cli, devices, recipe_file
from trainer.bench import accelerator, floors
from trainer.bench.floors import Device
from trainer.errors import Unusable
from trainer.model_shape import ModelShape

ABLE = Device("a device", read_bytes_s=1e12, flops=1e14)
SHAPE = ModelShape(1000, 8, 3, 2, 1, 4, 16, tied=True)
NO_GPU = not torch.cuda.is_available()


def test_writing_reads_every_weight_for_each_token_of_a_batch_and_every_prompt_once():
    # 640 tokens by 64 dialogues: ten readings of 2 GB at 1 TB/s; 2 x 1e9 x 5e4 at 1e14 are 1 s.
    found = floors.decode_s(
        ABLE, weight_bytes=2 * 10**9, parameters=10**9, written=640, abreast=64, read=50_000
    )
    assert found == pytest.approx(10 * 0.002 + 1.0)


def test_learning_takes_six_operations_a_parameter_and_token():
    assert floors.update_s(ABLE, parameters=10**9, tokens=10**4) == pytest.approx(0.6)


def test_ratios_are_those_of_the_records_to_the_floors():
    record = {
        "action_tokens": 640,
        "total_tokens": 2000,
        "rollout_s": 3.0,
        "sample_s": 2.0,
        "score_s": 0.5,
        "learn_s": 1.5,
    }
    told = {
        one.name: one.value
        for one in accelerator.figures([record, record], SHAPE, ABLE, dialogues=64)
    }
    both = SHAPE.parameters + SHAPE.critic
    assert told["update, learnt from"] == pytest.approx(1000.0)
    assert told["update with scoring against the floor"] == pytest.approx(
        4.0 / (6 * both * 4000 / 1e14)
    )
    assert told["rollout against its floor"] / told["sampler alone against the floor"] == 1.5
    assert told["rollout, floor"] / told["rollout, written"] == pytest.approx(
        told["rollout against its floor"]
    )


def test_the_whole_script_runs_on_a_processor_at_a_tiny_size():
    quiet = Console(quiet=True)
    able, figures = accelerator.measure(
        "tiny", device="cpu", steps=1, sampler="local", console=quiet
    )
    assert able.flops > 1e8 and able.read_bytes_s > 1e7
    assert all(math.isfinite(one.value) and one.value > 0 for one in figures)


def test_the_model_of_the_half_billion_class_is_one():
    config = accelerator.recipe(accelerator.SIZES["0.5b"], device="cuda", steps=1, sampler="local")
    size = config.policy.size
    shape = ModelShape(
        size.vocab_size, size.hidden, size.layers, size.heads, size.kv_heads, size.head_dim,
        size.ffn, tied=True, head_norms=True,
    )  # fmt: skip
    assert 0.4e9 < shape.parameters < 0.6e9
    assert config.hardware.gpus == 1


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU here")
def test_without_a_gpu_one_sentence_says_so_and_the_code_is_that_of_misuse():
    told = CliRunner().invoke(cli.app, ["bench", "--gpu", "--size", "tiny"])
    assert isinstance(told.exception, accelerator.NoDevice)
    assert str(told.exception) == accelerator.NO_GPU and "\n" not in accelerator.NO_GPU


@pytest.mark.skipif(not NO_GPU, reason="there is a GPU here")
def test_a_run_that_counts_on_a_gpu_is_refused_where_there_is_none():
    counts = recipe_file.load("demo", ["hardware.gpus=1"])
    with pytest.raises(Unusable, match=r"set hardware\.gpus to 0"):
        devices.require_device(counts)
    devices.require_device(recipe_file.load("demo"))


def test_the_command_prints_json_for_a_program():
    words = ["bench", "--gpu", "--device", "cpu", "--size", "tiny", "--steps", "1", "--json"]
    told = CliRunner().invoke(cli.app, words)
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    (figures,) = found["benches"].values()
    assert "rollout against its floor" in {one["name"] for one in figures}
