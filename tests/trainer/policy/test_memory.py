"""Rows of the cache follow their dialogues through every move, growth and forgetting."""

from __future__ import annotations

import random

import pytest
import torch

from trainer.policy.cache import COLUMN_BLOCK, CacheShape, KeyValueCache
from trainer.policy.memory import DialogueMemory

SHAPE = CacheShape(2, 1, 4, torch.float32, torch.device("cpu"))


def write(cache: KeyValueCache, row: int, columns: list[int], value: float) -> None:
    rows = torch.full((len(columns),), row)
    filled = torch.full((len(columns), 1, 4), value)
    for layer in range(SHAPE.layers):
        cache.write(layer, rows, torch.tensor(columns), filled + layer, -filled - layer)


def held(cache: KeyValueCache, row: int, width: int) -> list[float]:
    keys, values = cache.read(1, slice(row, row + 1), width)
    assert torch.equal(keys, -values)
    return (keys[0, 0, :, 0] - 1).tolist()


def test_the_cache_grows_in_blocks_and_keeps_what_it_holds() -> None:
    cache = KeyValueCache(SHAPE, max_columns=600)
    cache.reserve(2, 3)
    assert (cache.rows, cache.columns) == (2, COLUMN_BLOCK)
    write(cache, 1, [0, 1], 5.0)
    cache.reserve(4, 300)
    assert (cache.rows, cache.columns) == (4, 2 * COLUMN_BLOCK)
    assert held(cache, 1, 2) == [5.0, 5.0]
    cache.reserve(1, 600)
    assert (cache.rows, cache.columns) == (4, 600), "never beyond the longest dialogue"


def test_rows_permute_as_asked() -> None:
    cache = KeyValueCache(SHAPE, max_columns=10)
    cache.reserve(4, 3)
    for row in range(4):
        write(cache, row, [0, 1, 2], 10.0 + row)
    cache.arrange([2, 0, 1, 3], 2)
    assert [held(cache, row, 2) for row in range(4)] == [
        [12.0] * 2,
        [10.0] * 2,
        [11.0] * 2,
        [13.0] * 2,
    ]
    assert held(cache, 0, 3)[2] == 10.0, "columns beyond the width stay"


def test_every_dialogue_finds_its_own_row_again() -> None:
    """Random batches of 9 dialogues over 5 rows: a row holds its dialogue's words or none."""
    chance = random.Random(5)
    cache = KeyValueCache(SHAPE, max_columns=64)
    memory = DialogueMemory(cache, max_rows=5)
    lives: dict[str, list[int]] = {f"d{i}": [i] for i in range(9)}
    kept = 0
    for _ in range(200):
        batch = chance.sample(sorted(lives), chance.randrange(1, 6))
        memory.seat(batch)
        cache.reserve(len(batch), 64)
        assert cache.rows <= 5
        for row, key in enumerate(batch):
            known = memory.keep(key, [*lives[key], 0])
            kept += known
            assert held(cache, row, known) == [float(key[1:])] * known
            new = lives[key][known:]
            if new:
                write(cache, row, list(range(known, known + len(new))), float(key[1:]))
            memory.add(key, new)
            if len(lives[key]) < 60:
                lives[key].append(chance.randrange(100))
        if chance.random() < 0.3:
            memory.forget([chance.choice(sorted(lives)), "never seen"])
    assert kept > 1000, "the test must have met remembered dialogues"


def test_only_what_agrees_is_kept() -> None:
    cache = KeyValueCache(SHAPE, max_columns=64)
    memory = DialogueMemory(cache, max_rows=2)
    memory.seat(["d"])
    memory.add("d", [1, 2, 3, 4])
    assert memory.keep("d", [1, 2, 3, 4, 5]) == 4
    assert memory.keep("d", [1, 2, 9, 4, 5]) == 2
    assert memory.keep("d", [1, 2, 3, 4]) == 2, "what was cut off is gone"
    memory.add("d", [3])
    assert memory.keep("d", [1, 2, 3]) == 2, "one token is left to read"
    assert memory.keep("d", [7]) == 0


def test_the_dialogue_not_used_for_longest_is_forgotten() -> None:
    memory = DialogueMemory(KeyValueCache(SHAPE, max_columns=64), max_rows=3)
    for key in "abc":
        memory.seat([key])
        memory.add(key, [1, 2])
    memory.seat(["a"])
    memory.seat(["d"])
    memory.seat(["a", "c"])
    assert memory.keep("a", [1, 2, 3]) == 2
    assert memory.keep("c", [1, 2, 3]) == 2
    memory.seat(["b"])
    assert memory.keep("b", [1, 2, 3]) == 0


@pytest.mark.parametrize("width", [0, 5])
def test_an_order_that_changes_nothing_is_free(width: int) -> None:
    cache = KeyValueCache(SHAPE, max_columns=8)
    cache.reserve(3, 8)
    before = cache.keys[0].clone()
    cache.arrange([0, 1, 2], width)
    assert torch.equal(cache.keys[0], before)
