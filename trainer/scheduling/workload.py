"""The workload of a simulated fleet: how long dialogues are, and how slow whoever answers.

Lengths and latencies are drawn from distributions with a stated spread; nothing here knows where
a dialogue is played.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator


class Script(NamedTuple):
    """One dialogue as it will go: what it asks of an engine and of its user, turn by turn."""

    tokens: tuple[float, ...]
    """Tokens that the policy writes in each turn."""
    waits_s: tuple[float, ...]
    """Seconds until user or tool have answered each turn."""


@dataclass(frozen=True)
class Workload:
    """Distributions of a dialogue's turns; the defaults are a support dialogue with an LLM user."""

    mean_turns: float = 8.0
    turn_spread: float = 0.5
    """Standard deviation of the number of turns over its mean."""
    most_turns: int = 50
    mean_tokens: float = 150.0
    token_spread: float = 0.6
    mean_wait_s: float = 1.5
    wait_spread: float = 0.8
    straggler_share: float = 0.0
    """Share of the turns whose answer takes `straggler_s`: a tool that hangs, a queue that is
    full."""
    straggler_s: float = 60.0


def scripts(load: Workload, rng: Generator) -> Iterator[Script]:
    """Yield dialogues without end.

    Args:
        load: Their distributions, log-normal throughout.
        rng: Chance.
    """
    while True:
        turns = int(
            np.clip(round(_draw(rng, load.mean_turns, load.turn_spread)), 1, load.most_turns)
        )
        tokens = _draws(rng, load.mean_tokens, load.token_spread, turns)
        waits = _draws(rng, load.mean_wait_s, load.wait_spread, turns)
        waits[rng.random(turns) < load.straggler_share] = load.straggler_s
        yield Script(tuple(tokens.tolist()), tuple(waits.tolist()))


def _draw(rng: Generator, mean: float, spread: float) -> float:
    return float(_draws(rng, mean, spread, 1)[0])


def _draws(rng: Generator, mean: float, spread: float, count: int) -> np.ndarray:
    """Return log-normal numbers of a mean and a coefficient of variation."""
    variance = np.log1p(spread**2)
    return rng.lognormal(np.log(mean) - variance / 2, np.sqrt(variance), count)
