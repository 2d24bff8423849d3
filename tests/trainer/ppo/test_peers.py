"""Peers divide an update without changing it: every row counts once, all keep in step."""

from __future__ import annotations

import pytest

from trainer.ppo.batch import micro_batches
from trainer.ppo.peers import ALONE, Peers

LENGTHS = [7, 3, 9, 4, 12, 5, 5]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("max_tokens", [1, 12, 30, 8192])
def test_every_row_counts_once_over_all_peers(size, max_tokens):
    parts = [Peers(rank, size).passes(LENGTHS, max_tokens=max_tokens) for rank in range(size)]
    counted = [row for part in parts for rows, counts in part if counts for row in rows]
    assert sorted(counted) == list(range(len(LENGTHS)))


@pytest.mark.parametrize("size", [2, 3, 4, 9])
def test_all_make_equally_many_passes_though_some_only_keep_in_step(size):
    parts = [Peers(rank, size).passes(LENGTHS, max_tokens=12) for rank in range(size)]
    assert len({len(part) for part in parts}) == 1
    assert all(counts for part in parts for _, counts in part[:-1])


def test_a_batch_that_fits_into_one_pass_still_gives_everybody_work():
    parts = [Peers(rank, 2).passes(LENGTHS, max_tokens=8192) for rank in range(2)]
    assert all(any(counts for _, counts in part) for part in parts)


def test_one_process_alone_cuts_as_if_there_were_no_peers():
    mine = ALONE.passes(LENGTHS, max_tokens=20)
    assert [rows for rows, _ in mine] == micro_batches(LENGTHS, max_tokens=20)
    assert all(counts for _, counts in mine)


def test_nothing_to_do_is_nothing_for_everybody():
    assert Peers(1, 2).passes([], max_tokens=8) == []
