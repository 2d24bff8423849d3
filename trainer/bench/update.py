"""What a PPO update costs beside a plain forward and backward pass of the same batch.

The floor is one network, one pass forward and one back over the same padded tokens, in the same
minibatches. PPO with a critic scores with two networks and trains two: counting a backward pass
as two forward ones, eight passes for the floor's three. What lies above that is our own. The
same dialogues, each cut at a turn of its own, show what unequal lengths cost.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedModel

from trainer import recipe_file
from trainer.bench.figures import Figure
from trainer.bench.forced import Layout, demo_model, play, sampler_for
from trainer.bench.timing import cpu_per_wall, median_cpu_s, median_ratio, take_turns
from trainer.ppo.batch import pack
from trainer.ppo.learner import LearnSettings
from trainer.ppo.torch_learner import TorchLearner
from trainer.trajectory import Trajectory

ARITHMETIC = 8 / 3
"""Passes of an update with critic over those of the floor."""

SETTINGS = LearnSettings(actor_lr=1e-4, critic_lr=1e-4)


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    layout: Layout = Layout(dialogues=32, prompt=64, reply=16, turns=4, observation=64)
    rounds: int = 5
    warm_up: int = 1


FULL = Sizes()
QUICK = Sizes(rounds=1, warm_up=0)


def measure(sizes: Sizes) -> list[Figure]:
    """Time an update and the floor, in turn."""
    model = demo_model()
    config = recipe_file.load("demo", []).learner
    sampler = sampler_for(model, sizes.layout)
    batch = play(sampler, sizes.layout, vocab_size=model.config.vocab_size, seed=0)
    sampler.close()
    cut = cut_at_turns(batch, sizes.layout)
    learner, plain, packed = TorchLearner(model, config, seed=0), demo_model(), pack(batch)
    rows = min(config.minibatch_dialogues, sizes.layout.dialogues)

    def floor() -> None:
        for start in range(0, len(batch), rows):
            part = slice(start, start + rows)
            forward_backward(plain, packed.ids_BT[part], packed.action_mask_BT[part])

    spent = take_turns(
        {
            "update": lambda: learner.step(batch, SETTINGS),
            "floor": floor,
            "cut": lambda: learner.step(cut, SETTINGS),
        },
        rounds=sizes.rounds,
        warm_up=sizes.warm_up,
    )
    update, least = spent["update"], spent["floor"]
    tokens = sizes.layout.tokens * sizes.layout.dialogues
    cut_tokens = sum(len(one.ids) for one in cut)
    ratio = median_ratio(update, least)
    return [
        Figure(
            "PPO update with critic",
            tokens / median_cpu_s(update),
            "tokens/s",
            cpu_per_wall=cpu_per_wall(update),
        ),
        Figure(
            "plain forward and backward",
            tokens / median_cpu_s(least),
            "tokens/s",
            cpu_per_wall=cpu_per_wall(least),
        ),
        Figure("update against plain", ratio, "x"),
        Figure("update against its own passes", ratio / ARITHMETIC, "x"),
        Figure(
            "a token of unequal dialogues",
            median_ratio(spent["cut"], update) * tokens / cut_tokens,
            "x",
            cpu_per_wall=cpu_per_wall(spent["cut"]),
        ),
    ]


def cut_at_turns(batch: Sequence[Trajectory], layout: Layout) -> list[Trajectory]:
    """Return the dialogues as if each had ended after a turn of its own, drawn by a fixed seed.

    Args:
        batch: Dialogues of the layout.
        layout: Their lengths.
    """
    chance, pieces = random.Random(0), []
    for one in batch:
        end = layout.length_before(chance.randrange(layout.turns)) + layout.reply
        names = ("ids", "action_mask", "turn_ids", "segment_ids", "rollout_logprobs", "rewards")
        pieces.append(replace(one, **{name: getattr(one, name)[:end] for name in names}))
    return pieces


def forward_backward(model: PreTrainedModel, ids_BT: Tensor, action_mask_BT: Tensor) -> None:
    """Run the cross-entropy of the action tokens forward and back, as any torch program would."""
    logits_BTV = model(input_ids=ids_BT, use_cache=False).logits
    mask_BT = action_mask_BT[:, 1:]
    loss = F.cross_entropy(logits_BTV[:, :-1][mask_BT], ids_BT[:, 1:][mask_BT])
    loss.backward()
    model.zero_grad(set_to_none=True)
