"""The plan equals the numbers of the ZeRO paper and sums made by hand."""

from __future__ import annotations

import pytest

from trainer import memory_plan
from trainer.memory_plan import GIB, MIXED, SINGLE, Bytes, Part, Plan, Sharding
from trainer.model_shape import KNOWN, ModelShape

SMALL = ModelShape(1000, 8, 3, 2, 1, 4, 16, tied=True)


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_a_stage_of_zero_takes_what_its_paper_says(stage: int, gigabytes: float) -> None:
    # Figure 1: 7.5 billion parameters on 64 ranks.
    part = memory_plan.trained("actor", 7_500_000_000, MIXED, Sharding(64, stage))
    assert part.gpu / 1e9 == pytest.approx(gigabytes, abs=0.05)
    assert part.host == 0


def test_an_optimizer_on_the_host_leaves_weights_and_gradients() -> None:
    part = memory_plan.trained("actor", 1000, MIXED, Sharding(4, 2, offload_optimizer=True))
    # 2 + 2/4 bytes here; 12 bytes of every parameter there, once for all ranks.
    assert (part.gpu, part.host) == (2500, 12_000)


def test_gradients_take_what_the_greater_moment_needs() -> None:
    each = Bytes(2, 4, 12, passing=2)
    # Stage 1: float32 sums and a pass's own on every rank, whole.
    assert memory_plan.trained("actor", 1000, each, Sharding(4, 1)).gpu == 1000 * (2 + 6 + 3)
    each = Bytes(4, 4, 12, stepping=4)
    # One rank holds the flattened copy of all; of four ranks each that of a quarter.
    assert memory_plan.trained("actor", 1000, each, Sharding(1, 1)).gpu == 1000 * (4 + 8 + 12)
    assert memory_plan.trained("actor", 1000, each, Sharding(4, 1)).gpu == 1000 * (4 + 4 + 3)
    assert memory_plan.trained("actor", 1000, each, Sharding(4, 2)).gpu == 1000 * (4 + 2 + 3)


def test_an_optimizer_on_the_host_has_gradients_and_weights_there_too() -> None:
    each = Bytes(2, 4, 12, host=6)
    part = memory_plan.trained("actor", 1000, each, Sharding(4, 2, offload_optimizer=True))
    assert (part.gpu, part.host) == (3000, 18_000)


def test_adapters_are_counted_by_the_maps_that_have_them() -> None:
    # Of SMALL: 8 -> 8 and 8 -> 16, at rank 2, in three blocks.
    assert SMALL.adapters(2, ["q_proj", "up_proj"]) == 3 * 2 * (8 + 8 + 8 + 16)
    part = memory_plan.adapter_inputs(SMALL, 10, ["q_proj", "up_proj"], again=False)
    assert part.gpu == 4 * 10 * 3 * (8 + 8)


def test_one_process_in_float32_keeps_a_copy_for_the_way_back() -> None:
    part = memory_plan.trained("actor", 1000, SINGLE, Sharding())
    assert part.gpu == 1000 * (4 + 4 + 8 + 12)


def test_qwen3_4b_with_its_critic_fits_four_gpus_only_in_parts() -> None:
    shape = KNOWN["qwen3-4b"]
    both = shape.parameters + shape.critic
    whole = memory_plan.trained("both", both, MIXED, Sharding(4, 0))
    split = memory_plan.trained("both", both, MIXED, Sharding(4, 3))
    # 8.04 billion at 16 bytes are 119.9 GiB, a quarter of that 30.0.
    assert whole.gpu / GIB == pytest.approx(119.88, abs=0.01)
    assert split.gpu / GIB == pytest.approx(29.97, abs=0.01)


def test_a_frozen_model_is_shared_and_rounded_up() -> None:
    assert memory_plan.frozen("reference", 10, 2).gpu == 20
    assert memory_plan.frozen("reference", 10, 2, ranks=3).gpu == 7


def test_a_cache_keeps_keys_and_values_of_every_layer() -> None:
    # 36 layers x 8 heads x 128 x 2, at 2 bytes: 144 KiB a token.
    part = memory_plan.key_values(KNOWN["qwen3-4b"], 1000, width=2)
    assert part.gpu == 1000 * 147_456


def test_activations_are_those_of_all_blocks_or_of_one_and_the_inputs() -> None:
    # A block: 4x8 + 2x8 + 2x4 + 4x16 = 120 numbers a token; three blocks of ten tokens.
    whole = memory_plan.activations(SMALL, 10, width=2, recompute=False, logits=0)
    again = memory_plan.activations(SMALL, 10, width=2, recompute=True, logits=0)
    assert whole.gpu == 10 * 3 * 120 * 2
    assert again.gpu == 10 * (3 * 8 + 120) * 2


def test_logits_are_held_in_chunks() -> None:
    few = memory_plan.activations(SMALL, 10, width=2, recompute=True, logits=10**9)
    chunk = memory_plan.activations(SMALL, 10, width=2, recompute=True, logits=4000)
    assert few.gpu - chunk.gpu == 12 * (10 * 1000 - 4000)


def test_an_engine_keeps_what_its_weights_leave() -> None:
    part, tokens = memory_plan.served(80 * GIB, 0.35, KNOWN["qwen3-4b"], width=2)
    assert part.gpu == 28 * GIB
    # 30,064,771,072 bytes less 8,044,936,192 of weights, at 147,456 a token.
    assert tokens == 149_331
    _, none = memory_plan.served(8 * GIB, 0.5, KNOWN["qwen3-4b"], width=2)
    assert none == 0


def test_the_lines_add_up_and_say_of_what() -> None:
    plan = Plan((Part("actor", 3 * GIB, GIB, "how"), Part("cache", 100 * 2**20)))
    told = memory_plan.lines(plan, gpu_bytes=80 * GIB)
    assert told[0].split() == ["actor", "3.0", "GiB", "how"]
    assert told[-2].split() == ["on", "a", "learning", "GPU", "3.1", "GiB", "of", "80.0", "GiB"]
    assert told[-1].split() == ["on", "the", "host", "1.0", "GiB"]
