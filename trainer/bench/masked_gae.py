"""GAE over action tokens alone: time of one batch, and agreement with the definition.

The definition is written out below, one token at a time, and compared on random layouts.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.bench.figures import Figure, at_most
from trainer.bench.timing import cpu_per_wall, median_cpu_s, spend, take_turns
from trainer.ppo.advantages import gae

GAMMA, LAM = 0.99, 0.95
TOLERANCE = 1e-9
"""Largest difference to the definition, in float64, that is called equal."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    rows: int = 256
    width: int = 1024
    turns: int = 8
    rounds: int = 20
    layouts: int = 1000


FULL = Sizes()
QUICK = Sizes(rounds=8, layouts=200)


def measure(sizes: Sizes) -> list[Figure]:
    """Time one batch and count the layouts on which the two disagree."""
    rewards, values, acts = _batch(sizes)
    bootstrap = torch.zeros(sizes.rows)
    fast = take_turns(
        {"gae": lambda: gae(rewards, values, acts, gamma=GAMMA, lam=LAM, bootstrap_B=bootstrap)},
        rounds=sizes.rounds,
        warm_up=2,
    )["gae"]
    rows = (rewards.tolist(), values.tolist(), acts.tolist())
    plain = [spend(lambda: [plain_gae(*row, 0.0) for row in zip(*rows, strict=True)])]
    best = min(one.cpu_s for one in fast)
    size = f"{sizes.rows} x {sizes.width}, {sizes.turns} turns"
    return [
        Figure(
            f"masked GAE, {size}", median_cpu_s(fast) * 1e3, "ms", at_most(20.0), cpu_per_wall(fast)
        ),
        Figure(f"masked GAE, {size}, best", best * 1e3, "ms"),
        Figure(
            "plain Python against it",
            median_cpu_s(plain) / median_cpu_s(fast),
            "x",
            cpu_per_wall=cpu_per_wall(plain),
        ),
        Figure(
            f"mismatches on {sizes.layouts} random layouts",
            float(sum(not _agrees(random.Random(seed)) for seed in range(sizes.layouts))),
            "",
            at_most(0.0),
        ),
    ]


def plain_gae(
    rewards: Sequence[float], values: Sequence[float], acts: Sequence[bool], bootstrap: float
) -> list[float]:
    """Return the advantages of one row by the definition (`trainer.ppo.advantages.gae`)."""
    advantages = [0.0] * len(acts)
    next_value, carried = bootstrap, 0.0
    for place in reversed(range(len(acts))):
        if acts[place]:
            delta = rewards[place] + GAMMA * next_value - values[place]
            carried = delta + GAMMA * LAM * carried
            advantages[place] = carried
            next_value = values[place]
    return advantages


def _batch(sizes: Sizes) -> tuple[Tensor, Tensor, Tensor]:
    """Return rewards, values and actions: turns of one length, each half observation."""
    chance = torch.Generator().manual_seed(0)
    turn = max(sizes.width // sizes.turns, 2)
    acts = (torch.arange(sizes.width) % turn >= turn // 2).repeat(sizes.rows, 1)
    values = torch.rand(sizes.rows, sizes.width, generator=chance)
    rewards = torch.rand(sizes.rows, sizes.width, generator=chance) * acts
    return rewards, values, acts


def _agrees(chance: random.Random) -> bool:
    """Compare on one random layout; what lies off the actions is not a number."""
    rows, width = chance.randint(1, 4), chance.randint(1, 160)
    density = chance.choice([0.1, 0.5, 0.9, 1.0])
    acts = [[chance.random() < density for _ in range(width)] for _ in range(rows)]
    rewards, values = (
        [[chance.gauss(0, 1) if act else float("nan") for act in row] for row in acts]
        for _ in range(2)
    )
    bootstrap = [chance.gauss(0, 1) for _ in range(rows)]
    found = gae(
        torch.tensor(rewards, dtype=torch.float64),
        torch.tensor(values, dtype=torch.float64),
        torch.tensor(acts),
        gamma=GAMMA,
        lam=LAM,
        bootstrap_B=torch.tensor(bootstrap, dtype=torch.float64),
    )
    expected = [plain_gae(*row) for row in zip(rewards, values, acts, bootstrap, strict=True)]
    gap = (found - torch.tensor(expected, dtype=torch.float64)).abs().max()
    return bool(gap <= TOLERANCE)
