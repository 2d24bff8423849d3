"""A program for `torchrun`: the bytes of all tensors that an engine holds through a step.

Each case is one line of a JSON file; rank 0 writes what every rank counted beside that file. Run by
`test_memory.py`, alone it has no use. Host and device are one memory here, so what is counted is
the sum of what the plan tells apart.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from trainer.policy import lora
from trainer.policy.lora_options import LoraOptions
from trainer.ppo import deepspeed_ranks
from trainer.ppo.deepspeed_engine import Engine
from trainer.ppo.deepspeed_options import DeepSpeedOptions
from trainer.ppo.deepspeed_state import Snapshot


def build_model() -> Qwen3ForCausalLM:
    """Return a float32 model of 800 thousand parameters.

    Each matrix is larger than those of which stage 3 keeps a whole copy everywhere (100,000).
    """
    torch.manual_seed(0)
    return Qwen3ForCausalLM(
        Qwen3Config(
            hidden_size=320,
            num_hidden_layers=1,
            num_attention_heads=5,
            num_key_value_heads=5,
            head_dim=64,
            intermediate_size=320,
            vocab_size=320,
            max_position_embeddings=64,
            tie_word_embeddings=True,
        )
    )


def storages() -> dict[int, torch.UntypedStorage]:
    """Return every storage that any tensor of this process stands on, by its place."""
    gc.collect()
    found = [one for one in gc.get_objects() if isinstance(one, torch.Tensor)]
    kept = [one.untyped_storage() for one in found if one.device.type != "meta"]
    return {one.data_ptr(): one for one in kept if one.nbytes()}


def count(case: dict[str, Any], ranks: deepspeed_ranks.Ranks) -> dict[str, Any]:
    """Return what an engine holds beyond what was there: at rest, with gradients, in its step."""
    # Kept alive for the length of the case, so that no new tensor can take the place of one.
    before = storages()
    model = build_model()
    whole = sum(one.numel() for one in model.parameters())
    if "rank" in case:
        lora.attach(model, LoraOptions(rank=case["rank"]), seed=1)
    learns = sum(one.numel() for one in model.parameters() if one.requires_grad)
    options = DeepSpeedOptions(bucket_elements=1000, **case["options"])
    engine = Engine(model, options, weight_decay=0.0, max_grad_norm=1.0, size=ranks.size)
    told: dict[str, Any] = {"whole": whole, "learns": learns}

    def note(moment: str) -> None:
        size = sum(one.nbytes() for place, one in storages().items() if place not in before)
        told[moment] = max(told.get(moment, 0), size)

    engine._adamw.register_step_pre_hook(lambda *_: note("step"))
    ids = torch.arange(8)[None]
    note("rest")
    for number in range(2):
        for last in (False, True):
            loss = engine.visit(
                lambda network: network(input_ids=ids).logits.float().square().mean()
            )
            engine.backward(loss, last=last)
            del loss
            if number:
                note("gradients")
        engine.set_rate(1e-4)
        engine.clip(1.0)
        engine.step()
        engine.forget_gradients()
    note("after")
    kept = Snapshot(engine)
    note("undo")
    del kept
    return told


def main(path: Path) -> None:
    """Count every case of a file."""
    torch.set_num_threads(1)
    ranks = deepspeed_ranks.join()
    for line in path.read_text("utf-8").splitlines():
        case = json.loads(line)
        told = ranks.gather(count(case, ranks))
        if ranks.leads:
            (path.parent / f"{case['name']}.json").write_text(json.dumps(told), "utf-8")
    deepspeed_ranks.part()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
