"""What a learner's step costs with each method of credit, beside PPO with a critic on one batch.

The batch holds groups of four rollouts with everything that any method reads: a reaction after
each segment and masked feedback after each turn. PPO scores with two networks and trains two,
eight passes when a backward one counts as two; a method without critic needs four, and InfoPO one
forward pass more, over rows that its branches make longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from trainer import recipe_file, seeds
from trainer.bench.figures import Figure
from trainer.bench.forced import Layout, demo_model, play, sampler_for
from trainer.bench.timing import cpu_per_wall, median_cpu_s, median_ratio, take_turns
from trainer.bench.update import SETTINGS
from trainer.ppo.credit import ESTIMATORS
from trainer.ppo.torch_learner import TorchLearner
from trainer.trajectory import Reaction, Trajectory

PPO = "gae"
GROUP_SIZE = 4
SILENCE = 12
"""Tokens that stand in for the feedback after a turn; the demo's placeholder has about as many."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    layout: Layout = Layout(dialogues=16, prompt=64, reply=16, turns=4, observation=64)
    rounds: int = 5
    warm_up: int = 1


FULL = Sizes()
QUICK = Sizes(rounds=1, warm_up=0)


def measure(sizes: Sizes) -> list[Figure]:
    """Time one step of every method, in turn, each with a learner of its own."""
    model = demo_model()
    vocab_size: int = model.config.vocab_size
    sampler = sampler_for(model, sizes.layout)
    played = play(sampler, sizes.layout, vocab_size=vocab_size, seed=0)
    sampler.close()
    batch = grouped(played, sizes.layout, vocab_size=vocab_size)
    config = recipe_file.load("demo", []).learner
    works = {
        name: partial(
            TorchLearner(demo_model(), replace(config, credit=name), seed=0).step, batch, SETTINGS
        )
        for name in ESTIMATORS
    }
    spent = take_turns(works, rounds=sizes.rounds, warm_up=sizes.warm_up)
    ppo = spent.pop(PPO)
    tokens = sizes.layout.tokens * sizes.layout.dialogues
    return [
        Figure(
            "PPO step on groups of four",
            tokens / median_cpu_s(ppo),
            "tokens/s",
            cpu_per_wall=cpu_per_wall(ppo),
        ),
        *(
            Figure(
                f"step with {name} against PPO",
                median_ratio(took, ppo),
                "x",
                cpu_per_wall=cpu_per_wall(took),
            )
            for name, took in spent.items()
        ),
    ]


def grouped(batch: Sequence[Trajectory], layout: Layout, *, vocab_size: int) -> list[Trajectory]:
    """Return dialogues in groups of four, with reactions and masked feedback by a fixed seed.

    Args:
        batch: Dialogues of the layout.
        layout: Their lengths.
        vocab_size: Tokens to draw the placeholder from.
    """
    silence = tuple(seeds.derive(0, "silence", place) % vocab_size for place in range(SILENCE))
    return [
        replace(
            one,
            group_id=f"g{number // GROUP_SIZE}",
            # The last segment is one that no user answered.
            reactions=tuple(
                Reaction(seeds.derive(0, "reaction", number, turn) % 3 - 1)
                for turn in range(layout.turns - 1)
            ),
            masked_feedback=(silence,) * layout.turns,
        )
        for number, one in enumerate(batch)
    ]
