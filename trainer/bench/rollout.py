"""Rollout speed of the local sampler against `generate()` that reads the whole history each turn.

Both write the same number of tokens into the same dialogues at temperature 1. The baseline is
given, before each turn, what the sampler's dialogues held there, and need not return log-probs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor
from transformers import GenerationConfig, Qwen3ForCausalLM

from trainer.bench.figures import Figure, at_least
from trainer.bench.forced import Layout, demo_model, play, sampler_for
from trainer.bench.timing import cpu_per_wall, median_cpu_s, median_ratio, take_turns

LIMIT_TURNS = 8
"""Turns at which the sampler must be three times as fast."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    dialogues: int = 16
    prompt: int = 64
    observation: int = 64
    reply: int = 16
    turns: Sequence[int] = (2, 4, 8)
    rounds: int = 5


FULL = Sizes()
QUICK = Sizes(rounds=1)


def measure(sizes: Sizes) -> list[Figure]:
    """Time both at every number of turns."""
    model = demo_model()
    return [figure for turns in sizes.turns for figure in _measure_turns(model, sizes, turns)]


def _measure_turns(model: Qwen3ForCausalLM, sizes: Sizes, turns: int) -> list[Figure]:
    layout = Layout(sizes.dialogues, sizes.prompt, sizes.reply, turns, sizes.observation)
    sampler, vocab_size = sampler_for(model, layout), model.config.vocab_size
    dialogues = play(sampler, layout, vocab_size=vocab_size, seed=turns)
    ids = torch.tensor([dialogue.ids for dialogue in dialogues])
    spent = take_turns(
        {
            "sampler": lambda: play(sampler, layout, vocab_size=vocab_size, seed=turns),
            "generate": partial(reread, model, ids, layout),
        },
        rounds=sizes.rounds,
        # The dialogues above have warmed one side up, the fewest turns warm up the other.
        warm_up=int(turns == min(sizes.turns)),
    )
    ours, theirs = spent["sampler"], spent["generate"]
    return [
        Figure(
            f"sampler, {turns} turns",
            layout.written / median_cpu_s(ours),
            "tokens/s",
            cpu_per_wall=cpu_per_wall(ours),
        ),
        Figure(
            f"generate() re-reading, {turns} turns",
            layout.written / median_cpu_s(theirs),
            "tokens/s",
            cpu_per_wall=cpu_per_wall(theirs),
        ),
        Figure(
            f"sampler against generate(), {turns} turns",
            median_ratio(theirs, ours),
            "x",
            at_least(3.0) if turns == LIMIT_TURNS else None,
        ),
    ]


@torch.inference_mode()
def reread(model: Qwen3ForCausalLM, ids_BT: Tensor, layout: Layout) -> int:
    """Write every turn with transformers' own loop; return the number of tokens written.

    Args:
        model: The model that both use.
        ids_BT: The dialogues as the sampler left them.
        layout: Their lengths.
    """
    config = GenerationConfig(
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        min_new_tokens=layout.reply,
        max_new_tokens=layout.reply,
        pad_token_id=0,
    )
    written = 0
    for turn in range(layout.turns):
        history_BT = ids_BT[:, : layout.length_before(turn)]
        grown_BT = cast("Any", model).generate(
            history_BT, attention_mask=torch.ones_like(history_BT), generation_config=config
        )
        written += grown_BT[:, history_BT.shape[1] :].numel()
    return written
