"""Chance as an argument: every random number is a function of named counters.

A draw depends on the run's seed and on what it is for (task, rollout, turn, token), never on how
many draws came before it. So a resumed run, another batch size or another value of epsilon
changes nothing but what it must. This module knows nothing about what the numbers decide.
"""

from __future__ import annotations

import hashlib
import random

SEED_BITS = 63


def derive(seed: int, *labels: str | int) -> int:
    """Return the seed that belongs to one purpose.

    Args:
        seed: The run's seed, or one derived from it.
        labels: What the number is for, most general first, as in `("user", task_id, rollout)`.
            An int and its decimal string are different labels.

    Returns:
        An integer in [0, 2**63), stable across processes, platforms and versions of Python.
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in (seed, *labels):
        kind = b"i" if isinstance(part, int) else b"s"
        text = str(part).encode()
        digest.update(kind + len(text).to_bytes(4, "big") + text)
    return int.from_bytes(digest.digest(), "big") >> (64 - SEED_BITS)


def uniform(seed: int, *labels: str | int) -> float:
    """Return one draw from [0, 1) that belongs to one purpose (see `derive`)."""
    return derive(seed, *labels) / 2**SEED_BITS


def stream(seed: int, *labels: str | int) -> random.Random:
    """Return a generator of its own for a purpose that needs many draws (see `derive`)."""
    return random.Random(derive(seed, *labels))
